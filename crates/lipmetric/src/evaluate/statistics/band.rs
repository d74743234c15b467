/// The two-sided 95 % point of the standard normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// Where a share lies with a chance of 95 %, if it was observed on so many independent rows: Wilson's interval, which stays within
/// 0 and 1 and does not close on shares near them.
///
/// ```
/// use lipmetric::evaluate::statistics::share_band;
/// let (low, high) = share_band(0.9, 100);
/// assert!((low - 0.8256).abs() < 1e-4 && (high - 0.9448).abs() < 1e-4);
/// assert_eq!(share_band(1.0, 0), (0.0, 1.0));
/// ```
#[must_use]
pub fn share_band(share: f64, rows: usize) -> (f64, f64) {
    if rows == 0 {
        return (0.0, 1.0);
    }
    let n = rows as f64;
    let (z2, share) = (Z * Z, share.clamp(0.0, 1.0));
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = Z / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    ((middle - half).max(0.0), (middle + half).min(1.0))
}
