//! Who computes the parts of a pass, and in which order they come back.

use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parts that are held before they are handed on: it bounds the memory, and does not depend on the number of threads.
const BATCH: usize = 32;
/// Fewer tasks than this are not worth waking other threads for: found on problems of a few hundred rows.
const FEW: usize = 5;

/// What can leave the process and come back: plain data.
pub(crate) trait Plain: Send + Serialize + DeserializeOwned {}

impl<T: Send + Serialize + DeserializeOwned> Plain for T {}

/// Computes `task(k)` for `k` in `0..count`, anywhere and in any order, and hands the results to `take` in the order of
/// `k`. `S` is room to work in, made anew wherever it is needed.
pub(crate) trait Executor: Sync {
    fn run<S: Default, A: Plain>(&self, count: usize, task: impl Fn(&mut S, usize) -> A + Sync, take: impl FnMut(A));
}

/// The threads of this process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads;

impl Executor for Threads {
    fn run<S: Default, A: Plain>(
        &self,
        count: usize,
        task: impl Fn(&mut S, usize) -> A + Sync,
        mut take: impl FnMut(A),
    ) {
        if count < FEW {
            let mut scratch = S::default();
            return (0..count).for_each(|k| take(task(&mut scratch, k)));
        }
        for from in (0..count).step_by(BATCH) {
            let batch = from..(from + BATCH).min(count);
            let parts: Vec<A> = batch.into_par_iter().with_max_len(1).map_init(S::default, &task).collect();
            parts.into_iter().for_each(&mut take);
        }
    }
}

/// One part after the other, each through JSON and back, as it would go to another process and back.
#[cfg(test)]
#[derive(Debug, Clone, Copy)]
pub(crate) struct Posted;

#[cfg(test)]
impl Executor for Posted {
    fn run<S: Default, A: Plain>(
        &self,
        count: usize,
        task: impl Fn(&mut S, usize) -> A + Sync,
        mut take: impl FnMut(A),
    ) {
        // From the last to the first: the order of work does not matter, that of taking does.
        let letters: Vec<String> = (0..count)
            .rev()
            .map(|k| serde_json::to_string(&task(&mut S::default(), k)).expect("a part is plain data"))
            .collect();
        letters.iter().rev().for_each(|text| take(serde_json::from_str(text).expect("a part is plain data")));
    }
}
