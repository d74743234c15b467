//! Numbers without rounding.

use num_bigint::{BigInt, Sign};
use std::cmp::Ordering;
use std::ops::{Add, AddAssign, Mul, Sub};

/// `whole * 2^power`, exactly: what every finite `f64` is, and every sum and product of such.
#[derive(Debug, Clone)]
pub(super) struct Dyadic {
    whole: BigInt,
    power: i64,
}

/// Bits of the fraction of an `f64`, and the power of two of its last bit where the exponent is zero.
const FRACTION: u32 = 52;
const LEAST_POWER: i64 = -1074;

/// A finite number as an odd integer (or zero) and a power of two.
pub(super) fn parts(value: f64) -> (BigInt, i64) {
    let bits = value.to_bits();
    let exponent = ((bits >> FRACTION) & 0x7ff) as i64;
    let fraction = bits & ((1 << FRACTION) - 1);
    let (whole, power) =
        if exponent == 0 { (fraction, LEAST_POWER) } else { (fraction | (1 << FRACTION), exponent - 1 + LEAST_POWER) };
    if whole == 0 {
        return (BigInt::default(), 0);
    }
    let even = whole.trailing_zeros();
    let odd = BigInt::from(whole >> even);
    (if value < 0.0 { -odd } else { odd }, power + i64::from(even))
}

impl Dyadic {
    pub(super) fn new(whole: BigInt, power: i64) -> Self {
        Self { whole, power }
    }

    pub(super) fn zero() -> Self {
        Self { whole: BigInt::default(), power: 0 }
    }

    /// A finite number.
    pub(super) fn from(value: f64) -> Self {
        let (whole, power) = parts(value);
        Self { whole, power }
    }

    pub(super) fn is_zero(&self) -> bool {
        self.whole.sign() == Sign::NoSign
    }

    pub(super) fn is_negative(&self) -> bool {
        self.whole.sign() == Sign::Minus
    }

    pub(super) fn is_positive(&self) -> bool {
        self.whole.sign() == Sign::Plus
    }

    pub(super) fn half(&self) -> Self {
        Self { whole: self.whole.clone(), power: self.power - 1 }
    }

    pub(super) fn double(&self) -> Self {
        Self { whole: self.whole.clone(), power: self.power + 1 }
    }

    /// The integer that this is in units of `2^power`; the power must not be above this one's own.
    fn at(&self, power: i64) -> BigInt {
        &self.whole << (self.power - power).max(0) as u64
    }

    /// The largest power of two of which both are multiples.
    fn common(&self, other: &Self) -> i64 {
        match (self.is_zero(), other.is_zero()) {
            (true, _) => other.power,
            (_, true) => self.power,
            _ => self.power.min(other.power),
        }
    }

    /// The power of two of the last bit, and none for zero.
    fn last(&self) -> Option<i64> {
        (!self.is_zero()).then_some(self.power)
    }

    /// The same numbers as integers in a common unit.
    pub(super) fn integers(values: &[Self]) -> Vec<BigInt> {
        let power = values.iter().filter_map(Self::last).min().unwrap_or(0);
        values.iter().map(|v| if v.is_zero() { BigInt::default() } else { v.at(power) }).collect()
    }

    /// The larger one.
    pub(super) fn max(self, other: Self) -> Self {
        if other > self { other } else { self }
    }
}

macro_rules! operate {
    ($($trait:ident $name:ident $sign:tt),*) => {
        $(impl $trait for &Dyadic {
            type Output = Dyadic;

            fn $name(self, other: Self) -> Dyadic {
                let power = self.common(other);
                Dyadic { whole: self.at(power) $sign other.at(power), power }
            }
        })*
    };
}
operate!(Add add +, Sub sub -);

impl Mul for &Dyadic {
    type Output = Dyadic;

    fn mul(self, other: Self) -> Dyadic {
        Dyadic { whole: &self.whole * &other.whole, power: self.power + other.power }
    }
}

impl AddAssign<&Self> for Dyadic {
    fn add_assign(&mut self, other: &Self) {
        if self.power == other.power {
            self.whole += &other.whole;
        } else {
            *self = &*self + other;
        }
    }
}

impl PartialEq for Dyadic {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Dyadic {}

impl PartialOrd for Dyadic {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Dyadic {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.power == other.power {
            return self.whole.cmp(&other.whole);
        }
        let power = self.common(other);
        self.at(power).cmp(&other.at(power))
    }
}

/// Which way a number is rounded that no `f64` is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Towards {
    Below,
    Above,
}

/// A quotient; what divides is positive.
#[derive(Debug, Clone)]
pub(super) struct Quotient {
    pub(super) top: Dyadic,
    pub(super) bottom: Dyadic,
}

impl Quotient {
    /// A number, undivided.
    pub(super) fn whole(top: Dyadic) -> Self {
        Self { top, bottom: Dyadic::from(1.0) }
    }

    /// How it compares with a number.
    pub(super) fn cmp(&self, other: &Dyadic) -> Ordering {
        self.top.cmp(&(other * &self.bottom))
    }

    /// The nearest `f64` on one side; a negative number is zero.
    pub(super) fn rounded(&self, towards: Towards) -> f64 {
        if !self.top.is_positive() {
            return 0.0;
        }
        // Two bits more than a fraction has, so that the quotient's own rounding is below its last bit.
        let shift = (66 + self.bottom.whole.bits() as i64 - self.top.whole.bits() as i64).max(0);
        let scaled = &self.top.whole << shift as u64;
        let quotient = &scaled / &self.bottom.whole;
        let power = self.top.power - self.bottom.power - shift;
        let dropped = (quotient.bits() as i64 - i64::from(FRACTION) - 1).max(LEAST_POWER - power).max(0);
        let mut kept = &quotient >> dropped as u64;
        let exact = &quotient * &self.bottom.whole == scaled && &kept << dropped as u64 == quotient;
        if towards == Towards::Above && !exact {
            kept += 1u32;
        }
        let value = scaled_by(kept.iter_u64_digits().next().unwrap_or(0) as f64, power + dropped);
        if towards == Towards::Below && value.is_infinite() { f64::MAX } else { value }
    }
}

/// `value * 2^power`, without rounding where it is representable.
fn scaled_by(mut value: f64, mut power: i64) -> f64 {
    const STEP: i64 = 1000;
    while power.abs() > STEP && value != 0.0 && value.is_finite() {
        value *= f64::powi(2.0, (STEP * power.signum()) as i32);
        power -= STEP * power.signum();
    }
    value * f64::powi(2.0, power.clamp(-STEP, STEP) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_an_integer_times_a_power_of_two_and_comes_back() {
        for value in [0.0, 1.0, -3.0, 0.1, 5e-324, 2.2e-308, 1e-310, f64::MAX, f64::MIN_POSITIVE, 1e300, -7.25e-12] {
            let there = Dyadic::from(value);
            assert_eq!(there.is_negative(), value < 0.0);
            let back = Quotient::whole(Dyadic::from(value.abs()));
            assert_eq!((back.rounded(Towards::Below), back.rounded(Towards::Above)), (value.abs(), value.abs()));
        }
    }

    #[test]
    fn what_no_float_is_lies_between_its_two_roundings() {
        let third = Quotient { top: Dyadic::from(1.0), bottom: Dyadic::from(3.0) };
        let (low, high) = (third.rounded(Towards::Below), third.rounded(Towards::Above));
        assert_eq!(high, low.next_up());
        assert!(third.cmp(&Dyadic::from(low)).is_gt() && third.cmp(&Dyadic::from(high)).is_lt());
        let tiny = Quotient { top: Dyadic::from(5e-324), bottom: Dyadic::from(3.0) };
        assert_eq!((tiny.rounded(Towards::Below), tiny.rounded(Towards::Above)), (0.0, 5e-324));
        let huge = Quotient::whole(&Dyadic::from(1e300) * &Dyadic::from(1e300));
        assert_eq!((huge.rounded(Towards::Below), huge.rounded(Towards::Above)), (f64::MAX, f64::INFINITY));
    }

    #[test]
    fn sums_lose_nothing() {
        let (large, small) = (Dyadic::from(1e200), Dyadic::from(1e-200));
        let sum = &(&large + &small) - &large;
        assert_eq!(sum, small);
        assert!(&large + &small > large);
        let mut total = Dyadic::zero();
        (0..10).for_each(|_| total += &Dyadic::from(0.1));
        assert!(total > Dyadic::from(1.0), "ten times what stands for 0.1 is a little more than one");
        assert!(Dyadic::from(0.5).half().double() == Dyadic::from(0.5));
    }
}
