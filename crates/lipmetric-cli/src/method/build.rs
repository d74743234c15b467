//! Lip^D, Lip^I and their kin from what was typed.

use super::{AnchorTo, Asked, LipArgs, Method, SlackRule, SolverChoice};
use crate::failure::{Failure, Result};
use lipmetric::Metric;
use lipmetric::method::{
    Aspect, ClassWeights, Euclidean, Learner, Lip, LipAdmm, LipAuto, LipLocal, Solver, TradeOff, Tuned,
};
use lipmetric::problem::{Anchor, Diameter, Slack, Towards, Variant};

impl LipArgs {
    /// The exact learner with these parameters, but for the trade-off. What is to be chosen has its usual value.
    fn exact(&self, variant: Variant) -> Lip {
        let mut lip = Lip::new(variant).slack(match self.slack {
            Some(SlackRule::Pair) => Slack::Pair,
            Some(SlackRule::Instance | SlackRule::Auto) | None => Slack::Instance,
        });
        if let Some(tol) = self.tol {
            lip = lip.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            lip = lip.max_iterations(max_iter);
        }
        if let Some(Asked::Value(diameter)) = self.diameter {
            lip = lip.diameter_as(diameter);
        }
        if let Some(anchor) = self.anchor {
            let towards = match anchor {
                AnchorTo::Euclid => Towards::Euclid,
                AnchorTo::Within => Towards::Within,
            };
            lip = lip.anchor(Anchor { towards, weight: self.anchor_weight.unwrap_or(0.1) });
        }
        if self.balanced {
            lip = lip.class_weights(ClassWeights::Balanced);
        }
        lip
    }

    /// The learner for large problems; a slack per row must have been asked for.
    fn large(&self, variant: Variant, solver: Solver, trade_off: TradeOff, start: Option<&Metric>) -> LipAdmm {
        let slack = if self.slack == Some(SlackRule::Instance) { Slack::Instance } else { Slack::Pair };
        let mut large = LipAdmm::new(variant).solver(solver).slack(slack).trade_off(trade_off);
        if self.balanced {
            large = large.class_weights(ClassWeights::Balanced);
        }
        if let Some(metric) = start {
            large = large.start_from(metric);
        }
        if let Some(mu) = self.mu {
            large = large.mu(mu);
        }
        if let Some(Asked::Value(rank)) = self.rank {
            large = large.rank(rank);
        }
        if let Some(tol) = self.tol {
            large = large.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            large = large.max_iterations(max_iter);
        }
        large
    }

    /// What is to be chosen on held-out rows.
    fn aspects(&self, method: Method) -> Vec<Aspect> {
        let no_c = self.c.is_none() && self.c_rel.is_none();
        let asked = [
            (self.c == Some(Asked::Auto) || (method == Method::Lip && no_c), Aspect::TradeOff),
            (self.slack == Some(SlackRule::Auto), Aspect::Slack),
            (self.diameter == Some(Asked::Auto), Aspect::Diameter),
            (self.rank == Some(Asked::Auto), Aspect::Rank),
            (method == Method::Lip, Aspect::Variant),
        ];
        asked.into_iter().filter(|(asked, _)| *asked).map(|(_, aspect)| aspect).collect()
    }

    /// The exact learner for many trade-offs.
    pub(crate) fn along_a_path(&self, method: Method) -> Result<Lip> {
        let Some(variant) = method.variant().filter(|_| method != Method::Lip) else {
            return Err(Failure::Usage("--method: a path is of lip-d or lip-i; give one of them".to_owned()));
        };
        if self.c.is_some() || self.c_rel.is_some() {
            return Err(Failure::Usage(
                "--c and --c-rel: a path has many of them; give --points and --least".to_owned(),
            ));
        }
        if self.mu.is_some() || self.rank.is_some() || !matches!(self.solver, None | Some(SolverChoice::Exact)) {
            return Err(Failure::Usage(
                "--solver, --mu and --rank: a path is solved exactly; leave them out".to_owned(),
            ));
        }
        if !self.aspects(method).is_empty() {
            return Err(Failure::Usage("auto: a path is of one slack and one diameter; `fit` chooses".to_owned()));
        }
        Ok(self.exact(variant))
    }

    /// The method with these parameters, where it has them; `usual` is the trade-off if none is given.
    pub(crate) fn learner(&self, method: Method, usual: TradeOff, start: Option<Metric>) -> Result<Box<dyn Learner>> {
        let variant = match (method, method.variant()) {
            (_, Some(variant)) => variant,
            (Method::Auto, _) => return Ok(Box::new(Tuned::new())),
            (Method::LipLocal, _) => return Ok(Box::new(self.local())),
            _ => return Ok(Box::new(Euclidean)),
        };
        let aspects = self.aspects(method);
        let usual = if aspects.is_empty() { usual } else { TradeOff::Relative(0.1) };
        let trade_off = match (self.c, self.c_rel) {
            (Some(Asked::Value(c)), _) => TradeOff::Absolute(c),
            (None, Some(fraction)) => TradeOff::Relative(fraction),
            (Some(Asked::Auto) | None, _) => usual,
        };
        self.check(&aspects)?;
        let mut lip = self.exact(variant).trade_off(trade_off);
        if let Some(metric) = &start {
            lip = lip.start_from(metric);
        }
        let solver = match self.solver.unwrap_or(SolverChoice::Auto) {
            SolverChoice::Exact => None,
            SolverChoice::Auto | SolverChoice::Augmented => Some(Solver::Augmented),
            SolverChoice::Admm => Some(Solver::Admm),
            SolverChoice::Paper => Some(Solver::Paper),
        };
        let only_exact = self.is_automatic() && (self.is_exact_only() || self.slack == Some(SlackRule::Instance));
        let large = solver.filter(|_| !only_exact).map(|s| self.large(variant, s, trade_off, start.as_ref()));
        if !aspects.is_empty() {
            return Ok(Box::new(Tuned::lip(lip, large, &aspects)));
        }
        Ok(match large {
            None if only_exact => Box::new(LipAuto::only_exact(lip)),
            None => Box::new(lip),
            Some(large) if self.is_automatic() => Box::new(LipAuto::new(lip, large)),
            Some(large) => Box::new(large),
        })
    }

    fn is_automatic(&self) -> bool {
        matches!(self.solver, None | Some(SolverChoice::Auto))
    }

    /// Whether something is said, of the diameter or an anchor, that only the exact solver has.
    fn is_exact_only(&self) -> bool {
        let plain = matches!(self.diameter, None | Some(Asked::Auto | Asked::Value(Diameter::Maximum)));
        !plain || self.anchor.is_some()
    }

    /// Refuses what does not go together.
    fn check(&self, aspects: &[Aspect]) -> Result {
        let exact = self.is_automatic() || self.solver == Some(SolverChoice::Exact);
        let refused = |why: &str| Err(Failure::Usage(why.to_owned()));
        if self.mu.is_some() && self.solver != Some(SolverChoice::Paper) {
            return refused("--mu belongs to --solver paper; leave it out, or add that");
        }
        if matches!(self.rank, Some(Asked::Value(_)))
            && !matches!(self.solver, Some(SolverChoice::Admm | SolverChoice::Augmented))
        {
            return refused("--rank N belongs to --solver admm or augmented; add one of them, or give --rank auto");
        }
        if !aspects.is_empty() && !exact {
            return refused(
                "auto (of --c, --slack, --diameter, --rank) and --method lip choose by the exact solver: leave out --solver, \
                 or give --solver exact or auto",
            );
        }
        if self.is_exact_only() && !exact {
            return refused("--diameter and --anchor need --solver exact; leave out the one or the other");
        }
        let of_form = |a: &Aspect| matches!(a, Aspect::Slack | Aspect::Diameter | Aspect::Variant);
        if matches!(self.c, Some(Asked::Value(_))) && aspects.iter().any(of_form) {
            return refused(
                "one --c means different things for different slacks, diameters or variants; to choose among them give \
                 --c-rel, or --c auto",
            );
        }
        Ok(())
    }

    /// Lip^I by near pairs, with what it has of these parameters.
    fn local(&self) -> LipLocal {
        let mut local = LipLocal::new();
        if let Some(fraction) = self.c_rel {
            local = local.c_relative(fraction);
        }
        if let Some(tol) = self.tol {
            local = local.tolerance(tol);
        }
        if let Some(max_iter) = self.max_iter {
            local = local.max_iterations(max_iter);
        }
        local
    }
}
