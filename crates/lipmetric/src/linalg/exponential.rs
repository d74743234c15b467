//! The exponential function of many numbers at once.

/// `exp` of less than the negative of this is zero for all that is done here, and of more is in the range of [`exponentials`].
pub(crate) const LEAST_EXPONENT: f64 = 700.0;

/// `exp` of numbers between -[`LEAST_EXPONENT`] and 0, in place, to about two units in the last place: a power of two times a
/// polynomial, in a form that the compiler turns into vector instructions.
#[inline(always)]
pub(crate) fn exponentials(values: &mut [f64]) {
    const LOG2_E: f64 = std::f64::consts::LOG2_E;
    // ln 2 in two parts, the first exact in 21 bits less than a double has.
    const LN2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    for v in values {
        // Adding 1.5 * 2^52 rounds to a whole number, which then stands in the low bits.
        let shifted = *v * LOG2_E + SHIFT;
        let whole = shifted - SHIFT;
        let rest = (*v - whole * LN2_HIGH) - whole * LN2_LOW;
        let mut poly = 1.0 / 6_227_020_800.0;
        for c in [
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ] {
            poly = poly * rest + c;
        }
        let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
        *v = poly * power;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exponential_is_right_to_rounding() {
        let mut values: Vec<f64> = (0..=4000).map(|k| -32.0 * f64::from(k) / 4000.0).collect();
        values.push(-LEAST_EXPONENT);
        let expected: Vec<f64> = values.iter().map(|v| v.exp()).collect();
        exponentials(&mut values);
        for (a, b) in values.iter().zip(&expected) {
            assert!((a / b - 1.0).abs() < 4.0 * f64::EPSILON, "{a} and {b}");
        }
    }
}
