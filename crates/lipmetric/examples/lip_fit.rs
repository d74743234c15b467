//! `lip_fit TRAIN.csv D|I C|relFRACTION|max [pair|instance] [TOLERANCE] [max|mean|LEVEL] [ANCHOR]`: one JSON line.
//! With `LIP_TRACE` set in the environment, every iteration on standard error.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::unwrap_used)]

use lipmetric::method::{Learner, Lip, TradeOff, Training};
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};
use lipmetric::solver::{Observer, Progress, Stop};
use lipmetric::{Labels, Matrix};
use std::ops::ControlFlow;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[1]).unwrap();
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for line in text.lines().skip(1) {
        let mut cells: Vec<&str> = line.split(',').collect();
        names.push(cells.pop().unwrap().to_owned());
        values.extend(cells.iter().map(|c| c.parse::<f64>().unwrap()));
    }
    let x = Matrix::from_vec(names.len(), values.len() / names.len(), values).unwrap();
    let y = Labels::from_names(&names);
    let variant = if args[2] == "I" { Variant::Intra } else { Variant::Diameter };
    let slack = if args.get(4).is_some_and(|s| s == "instance") { Slack::Instance } else { Slack::Pair };
    let data = Training::new(&x, &y).unwrap();
    let diameter = match args.get(6).map(String::as_str) {
        Some("mean") => Diameter::Mean,
        Some(level) if level != "max" => Diameter::Cvar(level.parse().unwrap()),
        _ => Diameter::Maximum,
    };
    let lip = Lip::new(variant).slack(slack).diameter_as(diameter);
    if args[3] == "max" {
        let c_max = lip.c_max(&data, &mut Trace(false)).unwrap();
        println!("{{\"c_max\": {c_max}, \"cpu_s\": {:.4}}}", cpu());
        return;
    }
    let c = match args[3].strip_prefix("rel") {
        Some(fraction) => TradeOff::Relative(fraction.parse().unwrap()),
        None => TradeOff::Absolute(args[3].parse().unwrap()),
    };
    let tolerance = args.get(5).map_or(1e-6, |t| t.parse().unwrap());
    let mut lip = lip.trade_off(c).tolerance(tolerance);
    if let Some(weight) = args.get(7) {
        lip = lip.anchor(Anchor { towards: Towards::Euclid, weight: weight.parse().unwrap() });
    }
    let begun = cpu();
    let start = std::time::Instant::now();
    let mut observer = Trace(std::env::var_os("LIP_TRACE").is_some());
    let fit = lip.fit(&data, &mut observer).unwrap();
    let o = &fit.outcome;
    println!(
        "{{\"cpu_s\": {:.4}, \"c\": {}, \"rank\": {}, \"status\": \"{:?}\", \"objective\": {}, \"dual\": {}, \"gap\": {:e}, \"iterations\": {}, \"wall_s\": {:.4}}}",
        cpu() - begun,
        o.c.unwrap(),
        fit.metric.rank(),
        o.status,
        o.objective.unwrap(),
        o.dual.unwrap(),
        o.gap.unwrap(),
        o.iterations,
        start.elapsed().as_secs_f64()
    );
}

/// CPU seconds of all threads of this process so far, where the system tells.
fn cpu() -> f64 {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return f64::NAN };
    let nanoseconds = |text: String| text.split(' ').next().and_then(|t| t.parse::<f64>().ok());
    tasks
        .filter_map(|t| std::fs::read_to_string(t.ok()?.path().join("schedstat")).ok())
        .filter_map(nanoseconds)
        .sum::<f64>()
        * 1e-9
}

struct Trace(bool);

impl Observer for Trace {
    fn progress(&mut self, at: &Progress) -> ControlFlow<Stop> {
        if self.0 {
            let (primal, dual, gap) = (at.primal.unwrap_or(0.0), at.dual.unwrap_or(0.0), at.gap.unwrap_or(1.0));
            let (set, seconds) = (at.working_set.unwrap_or(0), at.seconds);
            eprintln!("{:4} {primal:14.6} {dual:14.6} {gap:9.2e} {set:7} rows {seconds:8.3} s", at.iteration);
        }
        ControlFlow::Continue(())
    }
}
