//! Rows, and what a matrix makes of them, in integers.

use super::number::{Dyadic, parts};
use crate::Matrix;
use num_bigint::BigInt;

/// Points with integer coordinates, each coordinate in a unit of its own: a power of two.
#[derive(Debug, Clone)]
pub(super) struct Points {
    pub(super) whole: Vec<Vec<BigInt>>,
    power: Vec<i64>,
}

impl Points {
    /// The rows of a matrix.
    pub(super) fn of(x: &Matrix) -> Self {
        let column = |k: usize| (0..x.rows()).map(move |i| parts(x[(i, k)]));
        let least = |k: usize| column(k).filter(|p| p.0 != BigInt::default()).map(|p| p.1).min().unwrap_or(0);
        let power: Vec<i64> = (0..x.cols()).map(least).collect();
        let cell = |i: usize, k: usize| {
            let (odd, own) = parts(x[(i, k)]);
            odd << (own - power[k]).max(0) as u64
        };
        let whole = (0..x.rows()).map(|i| (0..x.cols()).map(|k| cell(i, k)).collect()).collect();
        Self { whole, power }
    }

    /// The points mapped by a matrix: coordinates x features.
    pub(super) fn mapped(&self, map: &Matrix) -> Self {
        let zero = BigInt::default();
        let mut out = Self { whole: vec![Vec::with_capacity(map.rows()); self.whole.len()], power: Vec::new() };
        for r in 0..map.rows() {
            let terms: Vec<(usize, BigInt, i64)> = (0..map.cols())
                .map(|k| (k, parts(map[(r, k)])))
                .filter(|(_, p)| p.0 != zero)
                .map(|(k, (odd, own))| (k, odd, own + self.power[k]))
                .collect();
            let power = terms.iter().map(|t| t.2).min().unwrap_or(0);
            let terms: Vec<(usize, BigInt)> =
                terms.into_iter().map(|(k, odd, own)| (k, odd << (own - power) as u64)).collect();
            for (to, from) in out.whole.iter_mut().zip(&self.whole) {
                to.push(terms.iter().map(|(k, factor)| factor * &from[*k]).sum());
            }
            out.power.push(power);
        }
        out
    }

    /// The same with one unit for all coordinates, so that distances can be taken.
    pub(super) fn level(mut self) -> Level {
        let power = self.power.iter().copied().min().unwrap_or(0);
        for point in &mut self.whole {
            for (value, own) in point.iter_mut().zip(&self.power) {
                *value <<= (own - power) as u64;
            }
        }
        Level { whole: self.whole, power }
    }

    /// One over the square of the unit of a coordinate.
    pub(super) fn inverse_square_of_unit(&self, k: usize) -> Dyadic {
        Dyadic::new(BigInt::from(1u32), -2 * self.power[k])
    }

    pub(super) fn coordinates(&self) -> usize {
        self.power.len()
    }

    /// The most bits of a coordinate.
    pub(super) fn bits(&self) -> u64 {
        self.whole.iter().flatten().map(BigInt::bits).max().unwrap_or(0)
    }
}

/// Points whose coordinates are all in one unit.
#[derive(Debug, Clone)]
pub(super) struct Level {
    whole: Vec<Vec<BigInt>>,
    power: i64,
}

impl Level {
    /// The squared Euclidean distance of two points.
    pub(super) fn squared_distance(&self, i: usize, j: usize) -> Dyadic {
        let mut sum = BigInt::default();
        for (a, b) in self.whole[i].iter().zip(&self.whole[j]) {
            let difference = a - b;
            sum += &difference * &difference;
        }
        Dyadic::new(sum, 2 * self.power)
    }

    /// The most bits of a coordinate, and how many coordinates there are.
    pub(super) fn size(&self) -> (u64, usize) {
        let bits = self.whole.iter().flatten().map(BigInt::bits).max().unwrap_or(0);
        (bits, self.whole.first().map_or(0, Vec::len))
    }
}
