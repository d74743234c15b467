//! `lip_path TRAIN.csv D|I [pair|instance] [POINTS]`: a path over c against separate fits, in seconds.
#![allow(clippy::print_stdout, clippy::unwrap_used)]

use lipmetric::method::{Learner, Lip, Training};
use lipmetric::problem::{Slack, Variant};
use lipmetric::solver::Silent;
use lipmetric::{Labels, Matrix};
use std::time::Instant;

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
    let data = Training::new(&x, &y).unwrap();
    let variant = if args[2] == "I" { Variant::Intra } else { Variant::Diameter };
    let slack = if args.get(3).is_some_and(|s| s == "instance") { Slack::Instance } else { Slack::Pair };
    let points: usize = args.get(4).map_or(25, |t| t.parse().unwrap());
    let lip = Lip::new(variant).slack(slack);
    let c_max = lip.c_max(&data, &mut Silent).unwrap();
    let fractions: Vec<f64> = (0..points).map(|k| 0.9 * 1e-6f64.powf(k as f64 / (points.max(2) - 1) as f64)).collect();
    let start = Instant::now();
    let path = lip.path(&data, &fractions, &mut Silent).unwrap();
    let together = start.elapsed().as_secs_f64();
    let mut separate = 0.0;
    for (fraction, point) in fractions.iter().zip(&path) {
        let start = Instant::now();
        let single = lip.clone().c(fraction * c_max).fit(&data, &mut Silent).unwrap();
        let seconds = start.elapsed().as_secs_f64();
        separate += seconds;
        let (o, s) = (&point.fit.outcome, &single.outcome);
        println!(
            "{fraction:9.2e} {:?} {:.1e} {} steps; alone {:?} {:.1e} {} steps {seconds:.3} s",
            o.status,
            o.gap.unwrap(),
            o.iterations,
            s.status,
            s.gap.unwrap(),
            s.iterations
        );
    }
    let fits = together / (separate / points as f64);
    println!("path {together:.3} s (c_max included), separately {separate:.3} s: {fits:.1} single fits");
}
