//! Pictures of learned distances, and pages of them.
//!
//! Everything is drawn from plain data ([`lipmetric::view`]): nothing is fitted or measured here. A [`Page`] is one HTML file that
//! needs no other, and its figures are SVG files as well.
//!
//! | module | what it does |
//! |---|---|
//! | `markup` | elements; the one place where text is escaped |
//! | `number` | numbers as people read them |
//! | `scale` | from values to places, and round values on axes |
//! | `figure/` | a file per kind of picture |
//! | `picture` | figures as SVG or PNG files |
//! | `page/` | a file per kind of page, the style and the script |
//!
//! ```
//! use lipmetric::method::Lip;
//! use lipmetric::view::{History, ModelView};
//! use lipmetric::{data::{Column, Table}, model::Recipe, prepare::{Dataset, Roles}};
//! use lipmetric_report::{About, model_page};
//! let table = Table::new("flowers", vec![
//!     Column::numbers("length", vec![1.0, 1.3, 0.9, 3.1, 2.8, 3.0]),
//!     Column::numbers("noise", vec![0.2, 9.0, 4.0, 8.5, 0.4, 4.4]),
//!     Column::texts("kind", ["short", "short", "short", "long", "long", "long"]),
//! ]);
//! let data = Dataset::read(&table, &Roles::default())?;
//! let mut history = History::default();
//! let model = Recipe::new(&Lip::intra().into()).fit(&data, None, &mut history)?;
//! let page = model_page(&ModelView::of(&model, "flowers", history)?, &About::default());
//! assert!(page.html().starts_with("<!doctype html>"));
//! assert!(page.figures().iter().any(|(name, svg)| name == "after" && svg.contains("<svg")));
//! # Ok::<(), lipmetric::Error>(())
//! ```

mod figure;
mod markup;
mod number;
mod page;
mod picture;
mod scale;

pub use page::compare::compare_page;
pub use page::judgement::judgement_page;
pub use page::margins::{MarginsPage, margins_page};
pub use page::model::{map_figure, model_page};
pub use page::path::path_page;
pub use page::{About, Next, Page};
pub use picture::{Picture, PictureError};
