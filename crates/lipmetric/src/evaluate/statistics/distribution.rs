//! Tails of the distributions that the tests need.

use std::f64::consts::PI;

/// `ln Gamma(x)` for positive `x`, by Lanczos' series.
fn ln_gamma(x: f64) -> f64 {
    const SHIFT: f64 = 7.0;
    const SERIES: [f64; 9] = [
        0.999_999_999_999_809_9,
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let t = x + SHIFT + 0.5;
    let sum = SERIES.iter().enumerate().skip(1).fold(SERIES[0], |s, (i, c)| s + c / (x + i as f64));
    0.5 * (2.0 * PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// A continued fraction `1 / (b_0 + a_1 / (b_1 + ...))` by Lentz' method; `term(i)` gives `(a_i, b_i)` from `i = 1` on.
fn continued_fraction(first: f64, mut term: impl FnMut(usize) -> (f64, f64)) -> f64 {
    const TINY: f64 = 1e-300;
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let mut d = 1.0 / away(first);
    let mut c = 1.0 / TINY;
    let mut value = d;
    for i in 1..10_000 {
        let (a, b) = term(i);
        d = 1.0 / away(b + a * d);
        c = away(b + a / c);
        value *= d * c;
        if (d * c - 1.0).abs() < 1e-16 {
            break;
        }
    }
    value
}

/// The regularised incomplete beta function `I_x(a, b)`.
fn beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast on this side of the mean only.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, b, a);
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let fraction = continued_fraction(1.0, |i| {
        let m = (i / 2) as f64;
        let numerator = if i % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (numerator, 1.0)
    });
    front * fraction
}

/// The upper regularised incomplete gamma function `Q(a, x)`.
fn gamma_tail(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > 1e-17 * sum {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - front * sum;
    }
    front
        * continued_fraction(x + 1.0 - a, |i| {
            let i = i as f64;
            (i * (a - i), x + 2.0 * i + 1.0 - a)
        })
}

/// The chance that a standard normal variable exceeds `z`.
pub(super) fn normal_tail(z: f64) -> f64 {
    let half = 0.5 * gamma_tail(0.5, 0.5 * z * z);
    if z >= 0.0 { half } else { 1.0 - half }
}

/// The chance that Student's t with `freedom` degrees is as far from zero as `t`, on either side.
pub(super) fn t_two_sided(t: f64, freedom: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    beta(freedom / (freedom + t * t), 0.5 * freedom, 0.5)
}

/// The chance that chi-squared with `freedom` degrees exceeds `x`.
pub(super) fn chi_squared_tail(x: f64, freedom: f64) -> f64 {
    gamma_tail(0.5 * freedom, 0.5 * x)
}

/// The chance that F with these degrees of freedom exceeds `x`.
pub(super) fn f_tail(x: f64, numerator: f64, denominator: f64) -> f64 {
    if x.is_infinite() {
        return 0.0;
    }
    beta(denominator / (denominator + numerator * x.max(0.0)), 0.5 * denominator, 0.5 * numerator)
}

/// The chance that the range of `count` independent standard normal variables exceeds `q`: the studentised range with
/// infinitely many degrees of freedom.
pub(super) fn range_tail(q: f64, count: usize) -> f64 {
    if count < 2 || q.is_infinite() {
        return 0.0;
    }
    if q <= 0.0 {
        return 1.0;
    }
    // `count * integral phi(z) (Phi(z + q) - Phi(z))^(count - 1)`, z the smallest; the integrand falls off so fast on both
    // sides that the trapezoidal rule is exact to rounding.
    const STEP: f64 = 1.0 / 16.0;
    let from = -9.0 - q;
    let steps = ((18.0 + q) / STEP).ceil() as usize;
    let sum: f64 = (0..=steps)
        .map(|i| {
            let z = from + i as f64 * STEP;
            let density = (-0.5 * z * z).exp() / (2.0 * PI).sqrt();
            density * (normal_tail(z) - normal_tail(z + q)).powi(count as i32 - 1)
        })
        .sum();
    (1.0 - count as f64 * STEP * sum).clamp(0.0, 1.0)
}

/// The `q` that [`range_tail`] gives this chance.
pub(super) fn range_quantile(tail: f64, count: usize) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while range_tail(high, count) > tail && high < 64.0 {
        high *= 2.0;
    }
    for _ in 0..60 {
        let middle = 0.5 * (low + high);
        if range_tail(middle, count) > tail { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reference values are scipy 1.17's unless another source is named.
    fn close(found: f64, expected: f64, relative: f64) {
        assert!((found - expected).abs() <= relative * expected.abs(), "{found} is not {expected}");
    }

    #[test]
    fn the_gamma_function_is_right() {
        for (x, expected) in [
            (0.5, 0.572_364_942_924_7),
            (2.5, 0.284_682_870_472_919_2),
            (10.0, 12.801_827_480_081_469),
            (100.5, 361.435_540_467_777_57),
            (1e-3, 6.907_178_885_383_853),
        ] {
            close(ln_gamma(x), expected, 1e-13);
        }
        assert!(ln_gamma(1.0).abs() < 1e-14 && ln_gamma(2.0).abs() < 1e-14);
    }

    #[test]
    fn tails_agree_with_reference_values() {
        for (t, df, expected) in [
            (0.5, 1.0, 0.704_832_764_699_133_5),
            (1.0, 2.5, 0.404_061_027_278_273_64),
            (5.0, 9.0, 0.000_738_967_909_803_242_6),
            (40.0, 3.0, 3.438_068_078_915_850_6e-5),
            (-0.001, 30.0, 0.999_208_735_766_485_1),
        ] {
            close(t_two_sided(t, df), expected, 1e-11);
        }
        for (x, df, expected) in [
            (3.84, 1.0, 0.050_043_521_248_705_19),
            (14.07, 7.0, 0.049_950_250_317_479_475),
            (0.5, 3.0, 0.918_891_411_654_675_8),
            (100.0, 8.0, 4.269_159_205_144_943e-18),
            (0.001, 2.0, 0.999_500_124_979_169_3),
        ] {
            close(chi_squared_tail(x, df), expected, 1e-11);
        }
        for (x, a, b, expected) in [
            (2.2, 7.0, 49.0, 0.050_314_808_034_885_555),
            (0.3, 2.0, 10.0, 0.747_258_172_866_057_2),
            (1.0, 1.0, 1.0, 0.5),
            (15.0, 3.0, 21.0, 1.912_407_804_940_720_3e-5),
        ] {
            close(f_tail(x, a, b), expected, 1e-11);
        }
        for (z, expected) in [
            (0.0, 0.5),
            (0.5, 0.308_537_538_725_986_9),
            (-1.2, 0.884_930_329_778_291_8),
            (6.0, 9.865_876_450_376_946e-10),
            (10.0, 7.619_853_024_160_47e-24),
        ] {
            close(normal_tail(z), expected, 1e-11);
        }
    }

    #[test]
    fn the_studentised_range_agrees_with_reference_values() {
        for (count, at_5, at_10, at_1) in [
            (2, 2.771_807_648_699_355, 2.326_174_307_353_347_6, 3.642_772_735_436_894),
            (3, 3.314_493_155_398_122, 2.902_380_213_428_251_5, 4.120_303_206_460_12),
            (8, 4.286_309_409_349_043, 3.931_349_100_468_596_5, 4.987_182_689_088_668),
            (9, 4.386_509_115_495_37, 4.037_023_130_237_707, 5.077_505_681_093_961),
            (20, 5.011_688_794_118_442_5, 4.694_104_409_490_512, 5.645_214_697_985_851_5),
            (50, 5.646_026_026_380_527, 5.356_686_875_267_444, 6.228_392_608_582_205),
        ] {
            close(range_quantile(0.05, count), at_5, 1e-8);
            close(range_quantile(0.10, count), at_10, 1e-8);
            close(range_quantile(0.01, count), at_1, 1e-8);
        }
        close(range_tail(1.0, 3), 0.759_287_358_770_661_2, 1e-8);
        close(range_tail(6.0, 4), 0.000_129_817_245_326_790_95, 1e-8);
        assert_eq!((range_tail(1.0, 1), range_tail(0.0, 3)), (0.0, 1.0));
    }

    proptest! {
        #[test]
        fn tails_are_chances_that_fall_and_agree_where_they_are_the_same(x in 0.0..20.0_f64, df in 0.5..60.0_f64) {
            for tail in [chi_squared_tail(x, df), t_two_sided(x, df), f_tail(x, df, 7.0), normal_tail(x)] {
                prop_assert!((0.0..=1.0).contains(&tail));
            }
            prop_assert!(chi_squared_tail(x + 0.1, df) <= chi_squared_tail(x, df));
            prop_assert!(t_two_sided(x + 0.1, df) <= t_two_sided(x, df));
            // t squared is F with 1 and df, chi-squared with 1 is a squared normal, two normals' range is sqrt(2) |z|.
            prop_assert!((f_tail(x * x, 1.0, df) - t_two_sided(x, df)).abs() < 1e-12);
            prop_assert!((chi_squared_tail(x * x, 1.0) - 2.0 * normal_tail(x)).abs() < 1e-12);
            prop_assert!((range_tail(x, 2) - 2.0 * normal_tail(x / 2.0_f64.sqrt())).abs() < 1e-10);
        }
    }
}
