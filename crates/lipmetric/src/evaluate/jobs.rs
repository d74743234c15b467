//! Many independent fits at once.

use super::Supervisor;
use rayon::ThreadPoolBuilder;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// How far a run of many fits is.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Advance {
    /// Fits that are done.
    pub done: usize,
    /// Fits in all.
    pub total: usize,
    /// Seconds left, by what fits of the same kind have taken so far.
    pub seconds_left: f64,
}

/// Does `work(0)`, `work(1)`, ... on as many workers as the current thread pool has threads; `None` where the supervisor
/// gave up before. Jobs are begun in their order. `kind(job)`, below `kinds`, says which jobs take about as long as each
/// other.
///
/// A worker has threads of its own for what is parallel inside a job: one, or more where there are fewer jobs than
/// threads. Otherwise a job that waits for its own pieces would take up another whole job meanwhile, and its time would
/// be that one's, too. What a job computes must not depend on the number of threads.
pub(super) fn run<T: Send>(
    total: usize,
    kinds: usize,
    kind: impl Fn(usize) -> usize + Sync,
    supervisor: &dyn Supervisor,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<Option<T>> {
    let threads = rayon::current_num_threads();
    let workers = threads.min(total).max(1);
    let clock = Mutex::new(Clock::new((0..total).map(&kind), kinds, workers));
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<T>>> = (0..total).map(|_| Mutex::new(None)).collect();
    let worker = || {
        loop {
            let job = next.fetch_add(1, Ordering::Relaxed);
            if job >= total || supervisor.cancelled() {
                return;
            }
            let begun = Instant::now();
            let result = work(job);
            *slots[job].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            // Held while it is told, so that the news come in order.
            let mut clock = clock.lock().unwrap_or_else(PoisonError::into_inner);
            supervisor.advanced(&clock.record(kind(job), begun.elapsed().as_secs_f64()));
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| match ThreadPoolBuilder::new().num_threads((threads / workers).max(1)).build() {
                Ok(pool) => pool.install(worker),
                // No further thread to be had: the shared pool does, with less even times.
                Err(_) => worker(),
            });
        }
    });
    slots.into_iter().map(|s| s.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

/// How long each kind of job has taken so far, and how many are left.
struct Clock {
    done: usize,
    total: usize,
    workers: f64,
    /// Seconds taken, jobs done, jobs left.
    kinds: Vec<(f64, usize, usize)>,
}

impl Clock {
    fn new(jobs: impl Iterator<Item = usize>, kinds: usize, workers: usize) -> Self {
        let mut clock = Self { done: 0, total: 0, workers: workers as f64, kinds: vec![(0.0, 0, 0); kinds] };
        for kind in jobs {
            clock.kinds[kind].2 += 1;
            clock.total += 1;
        }
        clock
    }

    fn record(&mut self, kind: usize, seconds: f64) -> Advance {
        let (taken, done, left) = &mut self.kinds[kind];
        *taken += seconds;
        *done += 1;
        *left -= 1;
        self.done += 1;
        let usual = self.kinds.iter().map(|k| k.0).sum::<f64>() / self.done as f64;
        let work: f64 = self
            .kinds
            .iter()
            .map(|&(taken, done, left)| left as f64 * if done > 0 { taken / done as f64 } else { usual })
            .sum();
        Advance { done: self.done, total: self.total, seconds_left: work / self.workers }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solver::{Observer, Silent};
    use std::sync::atomic::AtomicBool;

    /// Gives up after so many jobs.
    struct After(usize, AtomicUsize, AtomicBool);

    impl Supervisor for After {
        fn observer(&self) -> Box<dyn Observer> {
            Box::new(Silent)
        }

        fn advanced(&self, at: &Advance) {
            assert!(at.seconds_left >= 0.0 && (at.done < at.total || at.seconds_left == 0.0));
            if self.1.fetch_add(1, Ordering::SeqCst) + 1 == self.0 {
                self.2.store(true, Ordering::SeqCst);
            }
        }

        fn cancelled(&self) -> bool {
            self.2.load(Ordering::SeqCst)
        }
    }

    fn after(n: usize) -> After {
        After(n, AtomicUsize::new(0), AtomicBool::new(false))
    }

    #[test]
    fn every_job_is_done_once_and_results_keep_their_order() {
        let done = run(100, 3, |i| i % 3, &after(usize::MAX), |i| i * i);
        assert_eq!(done, (0..100).map(|i| Some(i * i)).collect::<Vec<_>>());
        assert!(run(0, 0, |_| 0, &after(1), |_| ()).is_empty());
    }

    #[test]
    fn what_was_begun_before_giving_up_is_kept() {
        let threads = rayon::current_num_threads();
        let done = run(100, 1, |_| 0, &after(5), |i| i);
        let count = done.iter().flatten().count();
        assert!((5..=5 + threads).contains(&count), "{count}");
        assert!(done[..5].iter().all(Option::is_some));
    }

    #[test]
    fn the_time_left_knows_that_kinds_differ() {
        let mut clock = Clock::new([0, 1, 0, 1].into_iter(), 2, 2);
        // One kind is known, the other is guessed from it.
        assert_eq!(clock.record(0, 2.0).seconds_left, (2.0 + 2.0 * 2.0) / 2.0);
        assert_eq!(clock.record(1, 10.0).seconds_left, (2.0 + 10.0) / 2.0);
        assert_eq!(clock.record(1, 10.0).seconds_left, 2.0 / 2.0);
        assert_eq!(clock.record(0, 4.0), Advance { done: 4, total: 4, seconds_left: 0.0 });
    }
}
