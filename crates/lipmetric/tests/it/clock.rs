//! A fit has one clock, whatever it runs inside.

use crate::lip_common::pairwise;
use lipmetric::method::{Auto, LipLocal, Lmnn, Mcml, Method, Nca, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::{Halt, Observer, Progress};
use lipmetric::{Labels, Matrix};
use std::ops::ControlFlow;
use std::time::Duration;

/// How long the first report takes: no later one may tell less.
const PAUSE: Duration = Duration::from_millis(5);

/// Keeps what it is told of the time.
#[derive(Default)]
struct Times(Vec<f64>);

impl Observer for Times {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Halt> {
        if self.0.is_empty() {
            std::thread::sleep(PAUSE);
        }
        self.0.push(at.seconds);
        ControlFlow::Continue(())
    }
}

fn rows() -> (Matrix, Labels) {
    let (mut data, mut names) = (Vec::new(), Vec::new());
    for i in 0..40u32 {
        let class = i % 2;
        data.push(f64::from(i * 7 % 11) / 11.0 + 0.6 * f64::from(class));
        data.push(f64::from(i * 5 % 13) / 13.0);
        data.push(f64::from(i * 3 % 17) / 17.0 - 0.3 * f64::from(class));
        names.push(if class == 0 { "a" } else { "b" });
    }
    (Matrix::from_vec(40, 3, data).unwrap(), Labels::from_names(names))
}

#[test]
fn the_seconds_of_a_fit_never_decrease_whatever_runs_inside() {
    let (x, y) = rows();
    let data = Training::new(&x, &y).unwrap();
    let methods: [(&str, Box<dyn Method>); 7] = [
        // With a slack per row c_max is found by many short runs of the solver.
        ("lip, c_max first", Box::new(pairwise(Variant::Intra).slack(Slack::Instance).c_rel(0.1))),
        ("lip", Box::new(pairwise(Variant::Diameter).c(1.0))),
        ("lip by near pairs", Box::new(LipLocal::new())),
        ("a choice", Box::new(Auto::new())),
        ("lmnn", Box::new(Lmnn::new())),
        ("mcml", Box::new(Mcml::new())),
        ("nca", Box::new(Nca::new())),
    ];
    for (name, method) in methods {
        let mut times = Times::default();
        method.fit(&data, &mut times).unwrap();
        let Times(times) = times;
        assert!(times.len() > 2, "{name}: {times:?}");
        assert!(times.windows(2).all(|w| w[0] <= w[1]), "{name}: {times:?}");
        assert!(times[1] >= PAUSE.as_secs_f64(), "{name}: {times:?}");
    }
}

#[test]
fn the_seconds_of_a_path_go_on_from_one_trade_off_to_the_next() {
    let (x, y) = rows();
    let data = Training::new(&x, &y).unwrap();
    let mut times = Times::default();
    pairwise(Variant::Intra).path(&data, &[0.5, 0.1, 0.02], &mut times).unwrap();
    assert!(times.0.windows(2).all(|w| w[0] <= w[1]), "{:?}", times.0);
    assert!(times.0[1] >= PAUSE.as_secs_f64(), "{:?}", times.0);
}
