//! Rows of a timeline: time runs down, one side beside the other, and an object that does not change sides keeps its row.

mod align;
pub(super) mod tracks;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use stable_hooks_policy::RuleId;
use stable_hooks_policy::name::Name;

use super::model::{Act, Entry, LaneOf, Need, Side, Stage, Timeline};
use align::align;

pub(crate) struct Layout<'a> {
    pub(crate) rows: Vec<Row<'a>>,
    /// Objects that do not keep their row, from the top.
    pub(crate) crossings: Vec<Crossing<'a>>,
    before: Vec<NeedLine<'a>>,
    after: Vec<NeedLine<'a>>,
}

/// A column of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Column {
    Before,
    After,
}

pub(crate) enum Row<'a> {
    Stage {
        stage: Stage,
        before: Option<String>,
        after: Option<String>,
    },
    Entry {
        before: Option<Cell<'a>>,
        after: Option<Cell<'a>>,
    },
    /// Objects that are not looked for, and whether others of the stage are shown.
    Folded {
        stage: Stage,
        before: Vec<&'a Entry>,
        after: Vec<&'a Entry>,
        is_rest: bool,
    },
}

#[derive(Clone, Copy)]
pub(crate) struct Cell<'a> {
    pub(crate) entry: &'a Entry,
    /// `None` for what is no hook.
    pub(crate) weight: Option<i64>,
    stage: Stage,
}

/// An object with a row of its own on each side.
pub(crate) struct Crossing<'a> {
    pub(crate) object: &'a Name,
    /// The row before, and the one after.
    pub(crate) rows: (usize, usize),
    pub(crate) from: Stage,
    pub(crate) to: Stage,
    /// A finding is about that.
    pub(crate) is_trouble: bool,
}

/// A need of a hook, from its row to that of the object.
pub(crate) struct NeedLine<'a> {
    pub(crate) need: &'a Need,
    pub(crate) hook: usize,
    pub(crate) object: usize,
}

const STAGES: [Stage; 6] = [
    Stage::PreHooks,
    Stage::PreHooksDeleted,
    Stage::Resources,
    Stage::Pruned,
    Stage::PostHooks,
    Stage::PostHooksDeleted,
];

/// Argo CD deletes before it applies.
const STAGES_OF_A_SYNC: [Stage; 6] = [
    Stage::PreHooks,
    Stage::PreHooksDeleted,
    Stage::Pruned,
    Stage::Resources,
    Stage::PostHooks,
    Stage::PostHooksDeleted,
];

/// A cell of one side, or of both where they show the same object.
type Pair<'a> = (Option<Cell<'a>>, Option<Cell<'a>>);

impl<'a> Layout<'a> {
    pub(crate) fn new(timeline: &'a Timeline) -> Self {
        let shown = Shown::of(timeline);
        let mut rows = Vec::new();
        let stages = match timeline.after.act {
            Act::Helm { .. } => STAGES,
            Act::Sync(_) => STAGES_OF_A_SYNC,
        };
        for stage in stages {
            let [before, after] =
                [timeline.before.as_ref(), Some(&timeline.after)].map(|side| side.map(|side| cells(side, stage)));
            if before.iter().chain(&after).all(Vec::is_empty) {
                continue;
            }
            let title = |side: Option<&Side>, cells: &Option<Vec<Cell<'_>>>| {
                let is_said = matches!(stage, Stage::Resources | Stage::PreHooks | Stage::PostHooks)
                    || cells.as_ref().is_some_and(|cells| !cells.is_empty());
                side.filter(|_| is_said).map(|side| stage.title(&side.act))
            };
            rows.push(Row::Stage {
                stage,
                before: title(timeline.before.as_ref(), &before),
                after: title(Some(&timeline.after), &after),
            });
            let pairs = align(before.unwrap_or_default(), after.unwrap_or_default(), |cell| &cell.entry.object);
            rows.extend(folded(stage, pairs, &shown));
        }
        let places = [Places::of(&rows, |row| row.cells().0), Places::of(&rows, |row| row.cells().1)];
        let crossings = crossings(timeline, &places);
        let [left, right] = &places;
        let before = need_lines(timeline.before.iter().flat_map(|side| &side.needs), left);
        let after = need_lines(&timeline.after.needs, right);
        Self { rows, crossings, before, after }
    }

    /// The needs of the hooks of a side.
    pub(crate) fn needs(&self, column: Column) -> &[NeedLine<'a>] {
        match column {
            Column::Before => &self.before,
            Column::After => &self.after,
        }
    }

    /// The needs of the hook in that row.
    pub(crate) fn needs_in(&self, column: Column, row: usize) -> impl Iterator<Item = &NeedLine<'a>> {
        self.needs(column).iter().filter(move |line| line.hook == row)
    }
}

impl Column {
    pub(crate) const ALL: [Self; 2] = [Self::Before, Self::After];

    pub(crate) fn is_before(self) -> bool {
        self == Self::Before
    }

    /// Picks the one of two things that belongs to this side.
    pub(crate) fn of<T>(self, (before, after): (T, T)) -> T {
        match self {
            Self::Before => before,
            Self::After => after,
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.of(("before", "after")))
    }
}

impl Cell<'_> {
    pub(crate) fn is_deletion(&self) -> bool {
        self.stage.is_deletion()
    }
}

impl Crossing<'_> {
    /// Where the object goes, in words.
    pub(crate) fn target(&self, after: &Side) -> String {
        if self.from == self.to { "at another time".to_owned() } else { self.to.title(&after.act) }
    }
}

impl<'a> Row<'a> {
    pub(crate) fn cells(&self) -> Pair<'a> {
        match self {
            Self::Entry { before, after } => (*before, *after),
            Self::Stage { .. } | Self::Folded { .. } => (None, None),
        }
    }
}

/// The words of a folded row for one side.
pub(crate) fn fold_text(count: usize, is_rest: bool) -> String {
    let (more, plural) = (if is_rest { " more" } else { "" }, if count == 1 { "" } else { "s" });
    format!("{count}{more} resource{plural}")
}

/// How many there are of each kind, as they come.
pub(crate) fn kinds(entries: &[&Entry]) -> String {
    let mut kinds: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        match kinds.last_mut() {
            Some((kind, count)) if *kind == entry.object.kind => *count += 1,
            _ => kinds.push((&entry.object.kind, 1)),
        }
    }
    kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
}

fn cells(side: &Side, stage: Stage) -> Vec<Cell<'_>> {
    let lanes = side.phases.iter().filter(|phase| phase.stage == stage).flat_map(|phase| &phase.lanes);
    let cells = lanes.flat_map(|lane| {
        let weight = match lane.of {
            LaneOf::Weight(weight) => Some(weight),
            LaneOf::Kind(_) => None,
        };
        lane.entries.iter().map(move |entry| Cell { entry, weight, stage })
    });
    cells.collect()
}

/// The objects that are shown whatever their kind.
struct Shown<'a>(BTreeSet<&'a Name>);

impl<'a> Shown<'a> {
    fn of(timeline: &'a Timeline) -> Self {
        let sides = || timeline.before.iter().chain([&timeline.after]);
        let needs = sides().flat_map(|side| &side.needs).flat_map(|need| [&need.hook, &need.object]);
        let entries = || sides().flat_map(Side::entries);
        let marked = entries().filter(|(stage, entry)| stage.is_hooks() || !entry.findings.is_empty());
        Self(needs.chain(marked.map(|(_, entry)| &entry.object)).collect())
    }

    fn contains(&self, cell: &Cell<'_>) -> bool {
        let is_looked_for = ["Job", "ServiceAccount"].contains(&cell.entry.object.kind.as_str());
        is_looked_for || self.0.contains(&cell.entry.object) || !matches!(cell.stage, Stage::Resources | Stage::Pruned)
    }
}

fn folded<'a>(stage: Stage, pairs: Vec<Pair<'a>>, shown: &Shown<'_>) -> Vec<Row<'a>> {
    let is_shown = |(before, after): &Pair<'_>| before.iter().chain(after).any(|cell| shown.contains(cell));
    let has_shown = pairs.iter().any(is_shown);
    let mut rows = Vec::new();
    for pair in pairs {
        if is_shown(&pair) {
            rows.push(Row::Entry { before: pair.0, after: pair.1 });
            continue;
        }
        let (left, right) = (pair.0.map(|cell| cell.entry), pair.1.map(|cell| cell.entry));
        match rows.last_mut() {
            Some(Row::Folded { before, after, .. }) => {
                before.extend(left);
                after.extend(right);
            }
            _ => rows.push(Row::Folded {
                stage,
                before: left.into_iter().collect(),
                after: right.into_iter().collect(),
                is_rest: has_shown,
            }),
        }
    }
    rows
}

/// The stage and the row of an object.
type Place = (Stage, usize);

/// Where the objects of a side are brought about: run or created, not deleted.
struct Places<'a>(BTreeMap<&'a Name, Vec<Place>>);

impl<'a> Places<'a> {
    fn of(rows: &[Row<'a>], cell: impl Fn(&Row<'a>) -> Option<Cell<'a>>) -> Self {
        let mut places: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for (row, cell) in rows.iter().enumerate().filter_map(|(place, row)| Some((place, cell(row)?))) {
            if !cell.is_deletion() {
                places.entry(&cell.entry.object).or_default().push((cell.stage, row));
            }
        }
        Self(places)
    }

    fn first(&self, object: &Name) -> Option<usize> {
        Some(self.0.get(object)?.first()?.1)
    }
}

fn crossings<'a>(timeline: &Timeline, [before, after]: &[Places<'a>; 2]) -> Vec<Crossing<'a>> {
    let mut crossings = Vec::new();
    for (object, left) in &before.0 {
        let ends = after.0.get(object).and_then(|right| ends(left, right));
        let Some(((from, above), (to, below))) = ends else { continue };
        if above != below {
            let is_trouble = from != to && flips(timeline, object);
            crossings.push(Crossing { object, rows: (above, below), from, to, is_trouble });
        }
    }
    crossings.sort_by_key(|crossing| crossing.rows);
    crossings
}

/// The places of an object on both sides: in a stage that both have, else the first ones.
fn ends(before: &[Place], after: &[Place]) -> Option<(Place, Place)> {
    for from in before {
        if let Some(to) = after.iter().find(|(stage, _)| *stage == from.0) {
            return Some((*from, *to));
        }
    }
    Some((*before.first()?, *after.first()?))
}

fn flips(timeline: &Timeline, object: &Name) -> bool {
    let mut about = timeline.findings.iter().filter(|finding| finding.object == *object);
    about.any(|finding| finding.is_of(RuleId::ReleaseIdentityFlip) || finding.is_of(RuleId::ArgocdFlip))
}

/// One line for each object that a hook needs, however many of its fields do.
fn need_lines<'a>(needs: impl IntoIterator<Item = &'a Need>, places: &Places<'_>) -> Vec<NeedLine<'a>> {
    let mut lines = BTreeMap::new();
    for need in needs {
        let (Some(hook), Some(object)) = (places.first(&need.hook), places.first(&need.object)) else { continue };
        let line = lines.entry((hook, object)).or_insert(need);
        if need.late {
            *line = need;
        }
    }
    lines.into_iter().map(|((hook, object), need)| NeedLine { need, hook, object }).collect()
}
