//! The module `lipmetric._lipmetric`: the library as the Python package in `python/lipmetric` calls it.
//!
//! It is private and thin. Methods and classifiers come in as the JSON of [`Spec`](lipmetric::method::Spec) and
//! [`ClassifierSpec`](lipmetric::model::ClassifierSpec), so that a new one needs nothing here; figures go out as plain Python
//! objects.
//!
//! | file | what it does |
//! |---|---|
//! | `methods` | which methods there are, with their parameters and defaults |
//! | `rows` | arrays and columns as tables, labels as codes |
//! | `fit` | a fit, a regularisation path |
//! | `told` | a fit of rows without labels, the threshold of pairs |
//! | `model` | the fitted model: predict, explain, radii, transform, bytes |
//! | `helpers` | passes over all pairs in other processes, and the rows that these hold |
//! | `index` | neighbours among rows as they are, votes |
//! | `lipschitz` | margins, ratios, bounds, extensions, values |
//! | `compare` | methods against each other on the same splits |
//! | `pages` | pages with pictures of a model, a path, a comparison, margins |
//! | `datasets` | the bundled data sets |
//! | `run` | work on other threads while Python looks after signals and callbacks |
//! | `plain` | any serialisable figures as Python objects, arrays |
//! | `failure` | errors as exceptions |

mod compare;
mod datasets;
mod failure;
mod fit;
mod helpers;
mod index;
mod lipschitz;
mod methods;
mod model;
mod pages;
mod plain;
mod rows;
mod run;
mod told;

use pyo3::prelude::*;

#[pymodule]
mod _lipmetric {
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::datasets::{dataset, datasets};
    #[pymodule_export]
    use super::fit::{fit, path};
    #[pymodule_export]
    use super::helpers::Share;
    #[pymodule_export]
    use super::index::{Index, votes};
    #[pymodule_export]
    use super::lipschitz::{extend, learned_values, margins, radii, report};
    #[pymodule_export]
    use super::methods::{methods, used_threads};
    #[pymodule_export]
    use super::model::Model;
    #[pymodule_export]
    use super::pages::{View, margins_report};
    #[pymodule_export]
    use super::told::{fit_told, judge_pairs};
    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
