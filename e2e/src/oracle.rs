//! Pairs of small charts that real Helm installs and upgrades, and what our tools say to them.
//!
//! ```text
//!  generate   a pair from a seed           pair      its two charts and the steps
//!  files      chart files, command lines   shrink    smaller pairs
//!  reality    what happened, by UIDs and Helm's own records (record)
//!  said       what each tool said          compare   who was right
//!  tally      all of it as a table             limits    what a tool cannot know
//! ```

pub mod compare;
pub mod files;
pub mod generate;
pub mod limits;
pub mod pair;
mod random;
pub mod reality;
pub mod record;
pub mod said;
mod shrink;
pub mod tally;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::helm::Major;
use crate::world::World;

use compare::{Disagreement, Judged, Wrong, compare};
use pair::Pair;
use reality::{Reality, play};
use said::Said;

/// As many smaller pairs are tried at most.
const MOST_ATTEMPTS: usize = 40;

/// For the names of namespaces.
static TRIALS: AtomicUsize = AtomicUsize::new(0);

/// One pair under one Helm: what happened, and what was said.
#[derive(Clone)]
pub struct Trial {
    pub pair: Pair,
    pub major: Major,
    pub reality: Reality,
    pub said: Vec<(Said, Judged)>,
}

impl Trial {
    /// Lets it happen, in a namespace of its own.
    #[must_use]
    pub fn of(world: &World, pair: &Pair, major: Major) -> Self {
        let name = format!("oracle {}", TRIALS.fetch_add(1, Ordering::Relaxed));
        let (reality, said) = play(
            world,
            &name,
            pair,
            major,
            |scene, folder, moment| said::before(scene, folder, pair, moment),
            |scene, reality, before| before.into_iter().chain(said::after(scene, pair, reality)).collect::<Vec<_>>(),
        );
        let said = said.into_iter().map(|said| {
            let judged = compare(pair, &reality, &said);
            (said, judged)
        });
        Self { pair: pair.clone(), major, said: said.collect(), reality }
    }

    pub fn disagreements(&self) -> impl Iterator<Item = &Disagreement> {
        self.said.iter().flat_map(|(_, judged)| &judged.disagreements)
    }

    fn disagrees_so(&self, wanted: &Disagreement) -> bool {
        let is_it =
            |found: &&Disagreement| (found.tool, found.what, &found.rule) == (wanted.tool, wanted.what, &wanted.rule);
        self.disagreements().filter(is_it).any(|found| limits::limit(self, found).is_none())
    }

    /// The smallest pair that is wrong in the same way.
    #[must_use]
    pub fn shrunk(&self, world: &World, wanted: &Disagreement) -> Self {
        let (mut smallest, mut attempts) = (self.clone(), 0);
        loop {
            let smaller = shrink::smaller(&smallest.pair).into_iter().find_map(|pair| {
                attempts += 1;
                let next = (attempts <= MOST_ATTEMPTS).then(|| Self::of(world, &pair, smallest.major))?;
                next.disagrees_so(wanted).then_some(next)
            });
            match smaller {
                Some(smaller) => smallest = smaller,
                None => return smallest,
            }
        }
    }

    /// All that one needs to see why.
    #[must_use]
    pub fn shown(&self, wanted: &Disagreement) -> String {
        let mut text = files::shown(&self.pair);
        for run in &self.reality.runs {
            let outcome = if run.success { "succeeds" } else { run.error() };
            let _ = writeln!(text, "$ {}\n{outcome}", run.command);
        }
        for object in self.pair.objects() {
            let (before, after) = self.reality.sides(&self.pair, object);
            let after = after.map_or_else(|| "no record".to_owned(), |side| format!("{side:?}"));
            let (fate, flip) = (self.reality.fate(object), self.reality.flip(&self.pair, object));
            let (kind, name) = (object.0.name(), object.1);
            let _ = writeln!(text, "{kind} {name}: {before:?} -> {after}; {fate:?}; flip: {flip:?}");
        }
        for (said, _) in self.said.iter().filter(|(said, _)| said.tool == wanted.tool) {
            let _ = writeln!(text, "{}: {:?}\n{}", said.command, said.verdict, said.text);
        }
        text
    }
}

impl Disagreement {
    /// In one line.
    #[must_use]
    pub fn title(&self, major: Major) -> String {
        let (tool, helm, (kind, name)) = (self.tool.name(), major.number(), self.object);
        let object = format!("{} {name}", kind.name());
        match self.what {
            Wrong::Missed => format!("MISSED by {tool}, Helm {helm}: {object}"),
            Wrong::Unforeseen => format!("UNFORESEEN by {tool}, Helm {helm}: {}, {object}", self.rule),
            Wrong::False => format!("FALSE of {tool}, Helm {helm}: {} denies {object}", self.rule),
            Wrong::CouldNotJudge => format!("NO ANSWER of {tool}, Helm {helm}"),
        }
    }
}
