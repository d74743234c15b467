//! Tests of the library through its public surface: one binary, a file per subject.

#![allow(clippy::unwrap_used)]

mod admm;
mod agop;
mod auto_traits;
mod c_max;
mod clock;
mod comparison;
mod extension_function;
mod function;
mod joint;
mod kept;
mod knn;
mod knn_classifier;
mod lip_common;
mod lip_family;
mod lip_properties;
mod lip_random;
mod lip_reference;
mod lipschitz_bounds;
mod lipschitz_extension;
mod lipschitz_margins;
mod lipschitz_radius;
mod lipschitz_values;
mod model;
mod options;
mod prepare;
mod regression;
mod rivals;
mod robust;
mod robust_exact;
mod row_slack;
mod tuned;
mod tuned_forms;
mod weak_pairs;
mod written;
