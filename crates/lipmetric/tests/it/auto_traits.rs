//! What may be sent to other threads and shared between them: everything.

use lipmetric::classify::{KScore, KnnClassifier, Prediction, Validation, Weights};
use lipmetric::data::{Column, Split, Table, Texts, Values};
use lipmetric::evaluate::{Analysis, Comparison, Confusion, Protocol, Trial};
use lipmetric::lipschitz::{CertifiedRadius, ExtensionClassifier, LocalRatios, Mahalanobis, Margins, Report};
use lipmetric::method::{
    Agop, Auto, Choice, Euclidean, Fit, Init, Lip, Lmml, Lmnn, Mcml, Method, Nca, Outcome, Spec, Training,
};
use lipmetric::model::{Recipe, TrainingRows, Voting};
use lipmetric::neighbours::{Algorithm, NeighbourIndex, Neighbours};
use lipmetric::prepare::{Columns, Dataset, Preparation, Roles, Schema};
use lipmetric::problem::{Anchor, Diameter, Slack, Variant};
use lipmetric::solver::{Budget, Halt, Progress, Silent, Status};
use lipmetric::{Error, Labels, Matrix, Metric, Model};

fn shared<T: Send + Sync>() {}

#[test]
fn every_public_type_is_sent_and_shared() {
    shared::<(Matrix, Labels, Table, Column, Values, Texts, Split)>();
    shared::<(Schema, Roles, Columns, Preparation)>();
    shared::<(Metric, Fit, Outcome, Choice, Model, TrainingRows, Voting, Error)>();
    shared::<(Lip, Lmnn, Lmml, Nca, Mcml, Agop, Auto, Euclidean, Init, Spec)>();
    shared::<(&dyn Method, Recipe<'_>, Training<'_>)>();
    shared::<(Variant, Slack, Diameter, Anchor)>();
    shared::<(Status, Progress, Halt, Budget<Silent>)>();
    shared::<(NeighbourIndex, Neighbours, Algorithm)>();
    shared::<(KnnClassifier, Prediction, Weights, KScore, Validation)>();
    shared::<(Mahalanobis, ExtensionClassifier<'_, Mahalanobis>, Margins, LocalRatios, CertifiedRadius, Report)>();
    shared::<(Comparison, Confusion, Protocol, Dataset, Trial, Analysis)>();
}
