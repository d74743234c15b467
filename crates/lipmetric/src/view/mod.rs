//! What a picture shows, as plain data: computed here, drawn elsewhere.
//!
//! | file | what it tells |
//! |---|---|
//! | `model` | [`ModelView`]: all that a page about a model shows |
//! | `rows` | [`RowsView`]: labelled rows before and after a metric |
//! | `shown` | [`Shown`]: which rows are drawn; of many a sample, which says so |
//! | `map` | [`Map`], [`Projection`]: rows in the directions in which they spread most, under a metric |
//! | `held` | [`MapWorth`]: what a map is worth on rows that were not learned from |
//! | `pairs` | [`PairsView`]: similar and dissimilar pairs of rows without labels |
//! | `form` | [`Form`]: spectrum, weights and elements of a metric |
//! | `separation` | [`Separation`]: margins, ratios and distances under a metric |
//! | `plane` | [`Plane`]: a classifier's function over two features |
//! | `history` | [`History`]: how a fit came to its result, by step and by time |
//! | `judgement` | [`Judgement`]: how predictions compare with the truth |
//! | `path` | [`PathView`]: what changes along a regularisation path |
//! | `comparison` | [`ComparisonView`]: methods on data sets, split by split |
//!
//! Whatever would take time in the square of the rows is taken from a sample, and its size stands beside it. The types have public
//! fields and no behaviour: anyone may fill them in.

mod comparison;
mod form;
mod held;
mod history;
mod judgement;
mod map;
mod model;
mod pairs;
mod path;
mod plane;
mod rows;
mod separation;
mod shown;

pub use comparison::{ComparisonCell, ComparisonView, Ranks};
pub use form::{Form, Heat};
pub use held::MapWorth;
pub use history::{History, Step};
pub use judgement::{Bin, ClassFigures, Judgement};
pub use map::{Map, Projection};
pub use model::{ClassView, Ending, Expected, How, ModelView, SupportView, Tried};
pub use pairs::{PairDistances, PairsView};
pub use path::{PathPoint, PathView};
pub use plane::{Axis, Plane};
pub use rows::RowsView;
pub use separation::{Curve, Histogram, MarginsView, PairView, Separation};
pub use shown::Shown;
