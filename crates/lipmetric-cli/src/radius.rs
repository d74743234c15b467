//! Which radius is meant: options that several commands share.

use crate::failure::{Failure, Result};
use clap::{Args, ValueEnum};
use lipmetric::evaluate::Certification;
use lipmetric::robust::{Norm, Radius, Space};

/// Certified accuracies at some radii.
#[derive(Args)]
#[command(next_help_heading = "Certified accuracy")]
pub(crate) struct CertifiedArgs {
    /// Also the certified accuracy at these radii, separated by commas: the share of the rows that are predicted correctly and stay
    /// so, whatever is done to them within the radius
    #[arg(long, value_name = "RADII", value_delimiter = ',', group = "measured")]
    pub(crate) radius: Vec<f64>,
    #[command(flatten)]
    norm: NormArgs,
    /// Where a radius is measured
    #[arg(long, value_enum, value_name = "SPACE", default_value = "prepared", requires = "radius")]
    radius_space: SpaceChoice,
}

/// The norm of a radius.
#[derive(Args)]
pub(crate) struct NormArgs {
    /// How the length of a change is measured, on the prepared features and in the units of the input
    #[arg(long, value_enum, value_name = "NORM", default_value = "l2", requires = "measured")]
    radius_norm: NormChoice,
}

#[derive(Clone, Copy, ValueEnum)]
enum NormChoice {
    /// The root of the sum of squares
    L2,
    /// The largest change of any feature
    Linf,
    /// The sum of the changes
    L1,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum SpaceChoice {
    /// In the learned metric, always by l2: not comparable between methods
    Learned,
    /// On the prepared (filled, scaled) features
    Prepared,
    /// In the units of the input's numeric columns; categories and yes/no columns stay as they are
    Input,
}

impl NormArgs {
    pub(crate) fn norm(&self) -> Norm {
        match self.radius_norm {
            NormChoice::L2 => Norm::L2,
            NormChoice::Linf => Norm::Linf,
            NormChoice::L1 => Norm::L1,
        }
    }
}

impl CertifiedArgs {
    /// Which radius.
    pub(crate) fn asked(&self) -> Result<Radius> {
        let norm = self.norm.norm();
        let space = match self.radius_space {
            SpaceChoice::Learned if norm != Norm::L2 => {
                return Err(Failure::Usage(format!(
                    "--radius-norm: the learned metric has the norm l2, not {norm}; use `--radius-space prepared` or `input`"
                )));
            }
            SpaceChoice::Learned => Space::Learned,
            SpaceChoice::Prepared => Space::Prepared,
            SpaceChoice::Input => Space::Input,
        };
        Ok(Radius::new(norm, space))
    }

    /// The accuracies that are asked for; none without `--radius`.
    pub(crate) fn certification(&self) -> Result<Option<Certification>> {
        if self.radius.is_empty() {
            return Ok(None);
        }
        Ok(Some(Certification::new(self.asked()?, self.radius.clone())?))
    }

    /// Whether it is measured in the learned metric.
    pub(crate) fn is_learned(&self) -> bool {
        self.radius_space == SpaceChoice::Learned
    }

    /// In words: `l2 on the prepared features`.
    pub(crate) fn describe(&self) -> String {
        let place = match self.radius_space {
            SpaceChoice::Learned => return "in the learned metric".to_owned(),
            SpaceChoice::Prepared => "on the prepared features",
            SpaceChoice::Input => "in the units of the input",
        };
        format!("{} {place}", self.norm.norm())
    }
}
