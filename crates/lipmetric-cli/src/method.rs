//! From what was typed to a method, ready to fit.

pub(crate) mod options;

use crate::failure::{Failure, Result};
use crate::rivals::RivalArgs;
use clap::{Args, ValueEnum};
use lipmetric::classify::{K, KernelChoice, SmoothSpec, Weights};
use lipmetric::method::{
    Agop, Arml, Auto, Choose, Discriminant, Euclidean, Itml, Lip, LipLocal, LipPairs, LipRobust, Lmml, Lmnn, Mcml,
    Method as _, MetricKind, Mlkr, Nca, Score, Spec,
};
use lipmetric::model::ClassifierSpec;
use lipmetric::problem::Diameter;
use lipmetric::{Metric, Task};

use options::{Given, help};
use serde::Serialize;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The methods that there are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Method {
    /// Distance and function chosen by cross-validation: the Euclidean distance, unless another one is better
    Auto,
    /// Lip^D: a large margin between classes, relative to the largest distance between any two rows
    LipD,
    /// Lip^I: a large margin between classes, relative to the largest distance within a class
    LipI,
    /// Lip^D or Lip^I, and c, chosen by cross-validation
    Lip,
    /// Lip^I by near pairs: margins and distances between neighbours only
    LipLocal,
    /// A metric for certified accuracy: certified radii of the training rows as large as possible, up to --robust
    LipRobust,
    /// Lip^I from pairs: dissimilar pairs are pushed apart, relative to the mean distance of similar ones (--pairs)
    LipPairs,
    /// Large margin nearest neighbours: pulls target neighbours near and pushes other classes away
    Lmnn,
    /// Large margin metric learning: the metric of smallest norm that keeps the margins
    Lmml,
    /// Neighbourhood components analysis: a high probability of a neighbour of the right class
    Nca,
    /// Maximally collapsing metric learning: each class collapses towards a point
    Mcml,
    /// Metric learning for kernel regression: small leave-one-out errors of the numbers (--task regression)
    Mlkr,
    /// Recursive feature machine: the distance from the gradients of a smooth function that tells the classes apart, or that
    /// predicts the numbers
    Agop,
    /// Fisher's discriminant directions: classes far apart, relative to their spread; one direction fewer than classes at most
    #[value(alias = "lda")]
    Discriminant,
    /// Adversarially robust metric learning: a large mean certified distance of random near triplets
    Arml,
    /// Information-theoretic metric learning: the distance nearest to the Euclidean one that keeps the bounds of pairs (--pairs)
    Itml,
    /// The Euclidean distance on the prepared features: nothing is learned
    #[value(alias = "nn")]
    Euclidean,
}

impl Method {
    /// What a table's column is called.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::LipD => "Lip^D",
            Self::LipI => "Lip^I",
            Self::Lip => "Lip",
            Self::LipLocal => "Lip^loc",
            Self::LipRobust => "Lip^rob",
            Self::LipPairs => "Lip^pairs",
            Self::Itml => "ITML",
            Self::Lmnn => "LMNN",
            Self::Lmml => "LMML",
            Self::Nca => "NCA",
            Self::Mcml => "MCML",
            Self::Mlkr => "MLKR",
            Self::Agop => "AGOP",
            Self::Discriminant => "LDA",
            Self::Arml => "ARML",
            Self::Euclidean => "NN",
        }
    }

    /// How it is typed.
    pub(crate) fn typed(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }

    /// The method with its defaults.
    pub(crate) fn base(self) -> Spec {
        match self {
            Self::Auto => Auto::new().into(),
            Self::LipD => Lip::overall().into(),
            Self::LipI => Lip::intra().into(),
            Self::Lip => Lip::chosen().into(),
            Self::LipLocal => LipLocal::new().into(),
            Self::LipRobust => LipRobust::new().into(),
            Self::LipPairs => LipPairs::new().into(),
            Self::Itml => Itml::new().into(),
            Self::Lmnn => Lmnn::new().into(),
            Self::Lmml => Lmml::new().into(),
            Self::Nca => Nca::new().into(),
            Self::Mcml => Mcml::new().into(),
            Self::Mlkr => Mlkr::new().into(),
            Self::Agop => Agop::new().into(),
            Self::Discriminant => Discriminant::new().into(),
            Self::Arml => Arml::new().into(),
            Self::Euclidean => Euclidean::new().into(),
        }
    }
}

/// The method and its parameters.
#[derive(Args)]
#[command(next_help_heading = "Method")]
pub(crate) struct MethodArgs {
    /// How the distance is learned [default: auto]
    #[arg(long, value_enum)]
    method: Option<Method>,
    /// Read the method and its parameters from a JSON file, as `inspect --spec` prints it; `-` is standard input
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    #[command(flatten)]
    lip: LipArgs,
    #[command(flatten)]
    rivals: RivalArgs,
    #[command(flatten)]
    pub(crate) prediction: PredictionArgs,
}

impl MethodArgs {
    /// The method, with its parameters checked as far as that needs no data.
    pub(crate) fn spec(&self) -> Result<Spec> {
        self.spec_or(Method::Auto)
    }

    /// The same where another method is the usual one.
    pub(crate) fn spec_or(&self, usual: Method) -> Result<Spec> {
        let mut given = self.lip.given();
        given.extend(self.rivals.given());
        if let Some(path) = &self.spec {
            let method = self.method.map(|_| "method".to_owned());
            if let Some(option) = method.or_else(|| given.keys().next().cloned()) {
                return Err(Failure::Usage(format!(
                    "{}: --spec already gives the method and all its parameters; remove one of the two",
                    options::flag(&option)
                )));
            }
            return read_spec(path);
        }
        let method = self.method.unwrap_or(usual);
        for option in given.keys() {
            options::check(option, method, "add --method")?;
        }
        if self.rivals.warm_start().is_some() {
            options::check("warm_start", method, "add --method")?;
        }
        options::apply(&method.base(), &given)
    }

    /// The file that the method is read from.
    pub(crate) fn spec_file(&self) -> Option<&Path> {
        self.spec.as_deref()
    }

    /// The distance to begin from.
    pub(crate) fn start(&self) -> Result<Option<Metric>> {
        self.rivals.warm_start().map(start_from).transpose()
    }
}

/// The distance of a model.
pub(crate) fn start_from(path: &Path) -> Result<Metric> {
    Ok(crate::input::load_model(path)?.model.metric)
}

/// A method from a JSON file.
fn read_spec(path: &Path) -> Result<Spec> {
    let place = if path == Path::new("-") { "standard input".to_owned() } else { path.display().to_string() };
    let cannot = |e: std::io::Error| Failure::Failed(format!("cannot read {place}: {e}"));
    let mut text = String::new();
    if path == Path::new("-") {
        std::io::stdin().read_to_string(&mut text).map_err(cannot)?;
    } else {
        text = std::fs::read_to_string(path).map_err(cannot)?;
    }
    let spec = Spec::from_json(&text).map_err(|e| Failure::Usage(format!("--spec {place}: {e}")))?;
    // In a file the parameters have the names that the message gives them.
    spec.check().map_err(|e| Failure::Usage(format!("--spec {place}: {e}")))?;
    Ok(spec)
}

/// Parameters of Lip^D and Lip^I, and of whichever method has the same. What is not given takes the method's default.
#[derive(Args, Clone, Serialize)]
#[command(next_help_heading = "Method")]
pub(crate) struct LipArgs {
    #[arg(long, value_enum, value_name = "RULE", help = help("slack", "Whether a violated margin is charged once per pair of rows or once per row; for lmnn, a pair is a target neighbour and a row of another class", ""))]
    slack: Option<SlackRule>,
    #[arg(long, value_name = "VALUE", value_parser = real_or_auto, conflicts_with = "c_rel", help = help("c", "How much the diameter counts against violated margins. Larger: a simpler distance; smaller: fits the training rows more closely. `auto`: chosen by cross-validation, together with everything else that is `auto`. Without it, see --c-rel; in `compare` it is 1, as in the paper", ""))]
    c: Option<Choose<f64>>,
    #[arg(long, value_name = "FRACTION", value_parser = real, help = help("c_rel", "c as a fraction of c_max, the value at which the learned metric becomes zero", ""))]
    c_rel: Option<f64>,
    #[arg(long, value_name = "RULE", value_parser = diameter, help = help("diameter", "How the diameter is measured: `max`, the largest distance, as in the paper; `mean`, the mean distance; `cvar:0.1`, the mean of the longest tenth; `auto`: chosen by cross-validation, cvar up to 150 rows only", ""))]
    diameter: Option<Choose<Diameter>>,
    #[arg(long, value_enum, value_name = "METRIC", help = help("anchor", "Pull the learned distance towards a simple one", ""))]
    anchor: Option<AnchorTo>,
    #[arg(long, value_name = "WEIGHT", value_parser = real, requires = "anchor", help = help("anchor_weight", "Weight of the anchor: at 1 it counts about as much as the diameter", "0.1"))]
    anchor_weight: Option<f64>,
    #[arg(long, value_enum, value_name = "SOLVER", help = help("solver", "How the problem is solved", ""))]
    solver: Option<SolverChoice>,
    #[arg(long, value_name = "VALUE", value_parser = real, help = help("mu", "Penalty parameter of `--solver paper`", "1"))]
    mu: Option<f64>,
    #[arg(long, value_name = "N", value_parser = whole_or_auto, help = help("rank", "Largest rank of the metric, with --solver admm or augmented. `auto`: the smallest rank with the best cross-validated accuracy, exact solver only", "full rank"))]
    rank: Option<Choose<usize>>,
    #[arg(long, help = help("balanced", "Give every class the same total weight, whatever its size", ""))]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    balanced: bool,
    #[arg(long, value_name = "GAP", value_parser = real, help = help("tol", "Stop at this certified relative duality gap. nca has no certificate: it stops when a step improves the objective by less than this times the number of rows", ""))]
    tol: Option<f64>,
    #[arg(long, value_name = "N", help = help("max_iter", "Stop after this many iterations; lip-local: in each round", ""))]
    max_iter: Option<usize>,
    #[arg(long, value_name = "SCORE", value_parser = score, help = help("score", "What is optimised on held-out rows: accuracy, balanced (the mean over the classes), log-loss (of the probabilities) or auc (area under the ROC curve)", ""))]
    score: Option<Score>,
    #[arg(long, value_name = "METRICS", value_delimiter = ',', value_parser = metric, help = help("metrics", "The learned distances that are tried beside the Euclidean one, separated by commas: within, discriminant, near-discriminant, lip-local, agop, nca, lmnn; agop and mlkr for numbers", "all but the discriminants, of more than 200 features these and agop; nca, lmnn and mlkr where rows x rows x features are at most 3 million"))]
    metrics: Option<Vec<MetricKind>>,
}

impl LipArgs {
    /// What was given.
    pub(crate) fn given(&self) -> Given {
        given(self)
    }
}

/// The options that have a value.
pub(crate) fn given(args: &impl Serialize) -> Given {
    let Ok(serde_json::Value::Object(mut all)) = serde_json::to_value(args) else { return Given::new() };
    all.retain(|_, value| !value.is_null());
    all
}

/// A number that is one: a file cannot hold the others.
pub(crate) fn real(text: &str) -> std::result::Result<f64, String> {
    text.parse().ok().filter(|v: &f64| v.is_finite()).ok_or_else(|| "give a number such as 0.1".to_owned())
}

fn score(text: &str) -> std::result::Result<Score, String> {
    text.parse().map_err(|_| "give accuracy, balanced, log-loss or auc".to_owned())
}

fn metric(text: &str) -> std::result::Result<MetricKind, String> {
    let known = MetricKind::KNOWN;
    known.iter().copied().find(|m| m.name() == text).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|m| m.name()).collect();
        format!("give some of {}", names.join(", "))
    })
}

fn real_or_auto(text: &str) -> std::result::Result<Choose<f64>, String> {
    if text == "auto" { Ok(Choose::Auto) } else { real(text).map(Choose::Value).map_err(|e| format!("{e}, or `auto`")) }
}

fn whole_or_auto(text: &str) -> std::result::Result<Choose<usize>, String> {
    text.parse().map_err(|_| "give a number such as 1, or `auto`".to_owned())
}

#[derive(Clone, Copy, PartialEq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum SlackRule {
    /// Once per pair of rows
    Pair,
    /// Once per row: a mislabelled row pays once
    Instance,
    /// Chosen by cross-validation (not for lmnn)
    Auto,
}

#[derive(Clone, Copy, PartialEq, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum SolverChoice {
    /// exact up to 36 features and 3,000 rows (1,500 with a slack per row), else augmented
    Auto,
    /// The certified interior-point method
    Exact,
    /// The method of multipliers with Newton steps, for large problems
    Augmented,
    /// ADMM on a working set of pairs, for large problems
    Admm,
    /// The paper's Algorithm 1, an ADMM
    Paper,
}

#[derive(Clone, Copy, ValueEnum, Serialize)]
#[serde(rename_all = "snake_case")]
enum AnchorTo {
    /// The Euclidean distance on the prepared features
    Euclid,
    /// The Mahalanobis distance of the covariance within the classes
    Within,
}

fn diameter(text: &str) -> std::result::Result<Choose<Diameter>, String> {
    match text.split_once(':') {
        None if text == "auto" => Ok(Choose::Auto),
        None if text == "max" => Ok(Diameter::Maximum.into()),
        None if text == "mean" => Ok(Diameter::Mean.into()),
        Some(("cvar", level)) => match level.parse::<f64>() {
            Ok(level) if level > 0.0 && level < 1.0 => Ok(Diameter::Cvar(level).into()),
            _ => Err(format!("`{level}` is not a level between 0 and 1, such as 0.1")),
        },
        _ => Err("give max, mean, cvar:LEVEL, such as cvar:0.1, or auto".to_owned()),
    }
}

/// How classes are predicted.
#[derive(Args, Clone, Default)]
#[command(next_help_heading = "Prediction")]
pub(crate) struct PredictionArgs {
    /// What predicts the class (or, with --task regression, the number): `nearest`, a majority vote (the mean) of the nearest training rows; `extension`, the function that the paper
    /// selects, the Lipschitz extension of values on the training rows that are learned with the distance or, where the method
    /// learns none, for it; `smooth`, a smooth function of the distances to the training rows (kernel ridge); `auto`: votes or a smooth function, chosen together with the distance (method auto)
    /// [default: auto for the method auto, else nearest]
    #[arg(long, value_enum, value_name = "CLASSIFIER")]
    classifier: Option<ClassifierKind>,
    /// Number of neighbours in the majority vote; `auto`: chosen by leave-one-out on the training rows, or by cross-validation
    /// together with the distance if the method chooses one [default: 1; with --classifier nearest auto for the method auto, and auto
    /// for --task regression]
    #[arg(long, value_name = "K", value_parser = neighbours)]
    k: Option<K>,
    /// Weight of each neighbour's vote [default: uniform]
    #[arg(long, value_enum, value_name = "RULE")]
    weights: Option<Votes>,
    /// Keep only so many directions of the learned distance, those in which the training rows spread most under it (of euclidean: the
    /// principal components), and let the nearest rows vote there: a map to look at [default: all]
    #[arg(long, value_name = "N")]
    dims: Option<usize>,
    /// smooth: the bandwidth, as a part of the root mean squared distance between the training rows [default: chosen on rows that
    /// the function has not seen]
    #[arg(long, value_name = "PART", value_parser = real)]
    width: Option<f64>,
    /// smooth: the ridge, which makes the function smaller and more robust [default: chosen on rows that the function has not seen]
    #[arg(long, value_name = "RIDGE", value_parser = real)]
    ridge: Option<f64>,
    /// smooth: how a term falls with the distance to its row: `laplace`, exp(-distance / bandwidth); `gaussian`, exp(-distance^2 /
    /// (2 bandwidth^2)); `auto`: whichever predicts rows that it has not seen better [default: laplace]
    #[arg(long, value_enum, value_name = "KERNEL")]
    kernel: Option<Kernels>,
    /// smooth: whether every class counts as much as any other, whatever its number of rows [default: none]
    #[arg(long, value_enum, value_name = "RULE")]
    class_weights: Option<ClassWeights>,
}

fn neighbours(text: &str) -> std::result::Result<K, String> {
    text.parse().map_err(|_| "give a number such as 3, or `auto`".to_owned())
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClassifierKind {
    /// Majority vote of the nearest training rows
    Nearest,
    /// Lipschitz extension of the learned values
    Extension,
    /// A smooth function of the distances to the training rows
    Smooth,
    /// Votes or a smooth function, chosen together with the distance
    Auto,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Kernels {
    /// Whichever predicts better
    Auto,
    /// exp(-distance / bandwidth)
    Laplace,
    /// exp(-distance^2 / (2 bandwidth^2))
    Gaussian,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ClassWeights {
    /// Every row counts once
    None,
    /// Every class counts as much as any other
    Balanced,
}

#[derive(Clone, Copy, ValueEnum)]
enum Votes {
    /// All the same
    Uniform,
    /// By the inverse of the distance
    Distance,
}

/// The share of the upper extension, as in the paper; `predict --alpha` can take another one.
const HALF: f64 = 0.5;

impl PredictionArgs {
    /// By the Lipschitz extension.
    pub(crate) fn extension() -> Self {
        Self { classifier: Some(ClassifierKind::Extension), ..Self::default() }
    }

    /// These where they are given, and the others where they are not.
    pub(crate) fn or(&self, others: &Self) -> Self {
        let kind = self.classifier.or(others.classifier);
        let dims = self.dims.or(others.dims);
        // What was said of votes for all columns does not trouble one that does not vote.
        let same = self.classifier.is_none() || kind == others.classifier || kind == Some(ClassifierKind::Nearest);
        let others = if same && kind != Some(ClassifierKind::Extension) { others } else { &Self::default() };
        Self {
            classifier: kind,
            k: self.k.or(others.k),
            dims,
            weights: self.weights.or(others.weights),
            width: self.width.or(others.width),
            ridge: self.ridge.or(others.ridge),
            kernel: self.kernel.or(others.kernel),
            class_weights: self.class_weights.or(others.class_weights),
        }
    }

    /// Refuses options of another classifier.
    fn check_options(&self) -> Result {
        let kind = self.classifier.unwrap_or(ClassifierKind::Nearest);
        let votes = [("--k", self.k.is_some()), ("--weights", self.weights.is_some())];
        let smooth = [
            ("--width", self.width.is_some()),
            ("--ridge", self.ridge.is_some()),
            ("--kernel", self.kernel.is_some()),
            ("--class-weights", self.class_weights.is_some()),
        ];
        let wrong = |options: &[(&str, bool)], owner: &str| match options.iter().find(|o| o.1) {
            Some((option, _)) => Err(Failure::Usage(format!(
                "{option} is an option of `--classifier {owner}`; remove one of the two, or ask for that classifier"
            ))),
            None => Ok(()),
        };
        if kind != ClassifierKind::Nearest {
            wrong(&votes, "nearest")?;
        }
        if kind == ClassifierKind::Smooth { Ok(()) } else { wrong(&smooth, "smooth") }
    }

    /// How many directions of the distance are kept.
    pub(crate) fn dims(&self) -> Option<usize> {
        self.dims
    }

    fn smooth(&self) -> SmoothSpec {
        let mut smooth = SmoothSpec::default();
        (smooth.width, smooth.ridge) = (self.width, self.ridge);
        smooth.kernel = match self.kernel {
            Some(Kernels::Auto) => KernelChoice::Auto,
            Some(Kernels::Gaussian) => KernelChoice::Gaussian,
            Some(Kernels::Laplace) | None => KernelChoice::Laplace,
        };
        smooth.balanced = self.class_weights == Some(ClassWeights::Balanced);
        smooth
    }

    /// How the model of a method shall predict. `calibrate` is whether probabilities will be asked for.
    pub(crate) fn classifier(&self, spec: &Spec, task: Task, calibrate: bool) -> Result<ClassifierSpec> {
        self.check_options()?;
        if task == Task::Regression && self.class_weights == Some(ClassWeights::Balanced) {
            return Err(Failure::Usage("--class-weights: there are no classes with --task regression".to_owned()));
        }
        if self.dims.is_some() && self.classifier.is_some_and(|kind| kind != ClassifierKind::Nearest) {
            return Err(Failure::Usage(
                "--dims: in a map of few directions the nearest rows vote; a function is one of the whole distance: leave one of \
                 --dims and --classifier out"
                    .to_owned(),
            ));
        }
        match self.classifier {
            Some(ClassifierKind::Extension) => return Ok(ClassifierSpec::Extension { alpha: HALF, calibrate }),
            Some(ClassifierKind::Smooth) => return Ok(ClassifierSpec::Smooth(self.smooth())),
            Some(ClassifierKind::Auto) => return Ok(ClassifierSpec::Auto),
            None if matches!(spec, Spec::Auto(_))
                && [self.k.is_none(), self.weights.is_none(), self.dims.is_none()] == [true; 3] =>
            {
                return Ok(ClassifierSpec::Auto);
            }
            None | Some(ClassifierKind::Nearest) => {}
        }
        let weights = match self.weights {
            None | Some(Votes::Uniform) => Weights::Uniform,
            Some(Votes::Distance) => Weights::Distance,
        };
        let chosen = matches!(spec, Spec::Auto(_)) || task == Task::Regression;
        let usual = if chosen { K::Auto } else { K::default() };
        Ok(ClassifierSpec::Vote { k: self.k.unwrap_or(usual), weights })
    }
}
