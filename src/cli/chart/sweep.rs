//! `chart --sweep`: renders the chart with other values, and says whose change flips an object.

mod renderer;
mod round;
mod together;

use std::collections::BTreeSet;

use serde_json::Value;

use super::renders::Renders;
use super::trial::{Failures, Own, Said, printed};
use crate::cli::outcome::Told;
use crate::reach::{Blind, Chart, Reach, Role};
use crate::sweep::{Candidate, candidates};
use crate::words::counted;
use renderer::{Renderer, Sides};
pub(super) use renderer::{Sweep, Swept};
use round::{Base, Next, Plan, Round};
use together::pairs;

/// A Job that a value brings is the ground of a second round; no chart needs more of them.
const MOST_BASES: usize = 12;

impl Sweep<'_> {
    /// Tries other values; what could not be tried is told.
    pub(super) fn run(&self, told: &mut Told) -> Swept {
        let source = &self.renders.source;
        self.swept(told).unwrap_or_else(|reason| {
            told.cannot_judge(&format!("{source}: its values cannot be swept: {reason}"));
            Swept { says: "its values could not be swept".to_owned(), ..Swept::default() }
        })
    }

    fn swept(&self, told: &mut Told) -> Result<Swept, String> {
        let Renders { sources, install, upgrade, .. } = self.renders;
        if self.printing.time > self.limits.time {
            return Err(self.too_slow());
        }
        let printed = printed(self.printing.values.clone())?;
        let files = sources.all();
        let chart = Chart::of(&files);
        let values = chart.values_with(printed.clone());
        let reach = Reach::of(&chart, &values).map_err(|error| error.to_string())?;
        self.tell_blind_spots(&reach, told);
        let all = candidates(&reach, &chart, &values);
        let deciders = all.iter().filter(|candidate| candidate.role == Role::Hook).count();
        if deciders == 0 {
            let is_unread = |blind: &Blind| matches!(blind, Blind::TooLarge | Blind::Unparsed { .. });
            let says = if reach.blind.iter().any(is_unread) {
                "which values decide about its hooks could not be read".to_owned()
            } else {
                says(0, 0)
            };
            return Ok(Swept { says, ..Swept::default() });
        }
        let said = Said::new(sources, [&printed, &Value::Null]);
        let installs = self.installs(&values);
        let own = Own::of(&chart, sources);
        let renderer = Renderer { sweep: self, installs, values: values.clone(), own, said, files };
        let upgrade = self.outlined(upgrade.clone())?;
        let install = match install {
            Some(install) if installs => self.outlined(install.clone())?,
            Some(_) | None => upgrade.clone(),
        };
        let base = Base::new(Vec::new(), values, Sides { install, upgrade: Some(upgrade) }, self)?;
        let mut swept = Swept::default();
        let renders = self.rounds(&renderer, base, (&chart, &reach), all, &mut swept, told);
        Ok(Swept { says: says(deciders, renders), ..swept })
    }

    /// A first round over all values, and second ones over those that decide about a Job or ServiceAccount that a value has
    /// brought. Gives the number of renders.
    fn rounds(
        &self,
        renderer: &Renderer<'_>,
        base: Base,
        (chart, reach): (&Chart, &Reach),
        all: Vec<Candidate>,
        swept: &mut Swept,
        told: &mut Told,
    ) -> usize {
        let mut plan = Plan::new(self.limits.renders, if renderer.installs { 2 } else { 1 });
        let mut failures = Failures::default();
        let first = Round { renderer, base: &base };
        let Next { mut bases, quiet, failed } = first.run(all, &mut plan, &mut failures, swept);
        bases.extend(pairs(&first, &quiet, &mut plan, &mut failures, swept));
        let mut known = BTreeSet::new();
        // Several values may bring the same.
        let bases: Vec<_> = bases.iter().filter(|base| known.insert(base.brought())).collect();
        let beside = |base: &&Base| {
            let mut candidates = candidates(reach, chart, &base.values);
            candidates.retain(|candidate| base.may_flip(candidate));
            for candidate in &mut candidates {
                candidate.to.retain(|to| !failed.iter().any(|one| (&one.path, &one.to) == (&candidate.path, to)));
            }
            candidates
        };
        let rounds = bases.into_iter().map(|base| (Round { renderer, base }, beside(&base)));
        let rounds = rounds.filter(|(_, candidates)| !candidates.is_empty()).take(MOST_BASES);
        let (rounds, candidates): (Vec<_>, Vec<_>) = rounds.unzip();
        together::beside(&rounds, &candidates, &mut plan, &mut failures, swept);
        failures.tell_most(&self.renders.source, told);
        let taken = plan.taken();
        plan.tell(&self.renders.source, self.limits.renders, told);
        taken
    }

    fn too_slow(&self) -> String {
        let seconds = counted(self.limits.time.as_secs(), "second");
        format!("one render takes longer than {seconds}; `--sweep-timeout SECONDS` allows more")
    }

    fn tell_blind_spots(&self, reach: &Reach, told: &mut Told) {
        let source = &self.renders.source;
        for blind in &reach.blind {
            told.remark(&match blind {
                Blind::Lookup { file } => format!("{source}, {file} makes hooks and calls `lookup`: what the cluster decides there is not swept"),
                Blind::Capabilities { file } => format!("{source}, {file} makes hooks and asks for `.Capabilities`: what another cluster renders there is not swept"),
                Blind::ComputedName { file } => format!("{source}, {file} makes hooks and includes a template whose name it computes: values that only that one reads are not swept"),
                Blind::Unparsed { file, reason } => format!("{source}, {file} cannot be read, and values that only it reads are not swept: {reason}"),
                Blind::TooLarge => format!("{source} has more templates than are read to their end: not all values are swept"),
            });
        }
    }
}

/// What was done.
fn says(deciders: usize, renders: usize) -> String {
    let renders = counted(renders, "render");
    match deciders {
        0 => "no value of it decides about a hook".to_owned(),
        1 => format!("1 value decides about hooks, tried in {renders}"),
        _ => format!("{deciders} values decide about hooks, tried in {renders}"),
    }
}
