//! JSON, version 1: keys always present, order stable.
use std::io::{self, Write};

use serde::Serialize;
use stable_hooks_policy::name::Name;

use super::layout::Layout;
use super::model::{Entry, Lane, LaneOf, Need, Phase, Side, Stage, Timeline};
use crate::judged::{Finding, Summary};

#[derive(Serialize)]
struct Document<'a> {
    version: u8,
    timelines: Vec<OneTimeline<'a>>,
    summary: &'a Summary,
}

#[derive(Serialize)]
struct OneTimeline<'a> {
    release: &'a str,
    namespace: &'a str,
    before: Option<OneSide<'a>>,
    after: OneSide<'a>,
    crossings: Vec<OneCrossing<'a>>,
    findings: &'a [Finding],
    notes: &'a [String],
}

#[derive(Serialize)]
struct OneSide<'a> {
    operation: &'static str,
    revision: Option<u64>,
    phases: Vec<OnePhase<'a>>,
    needs: &'a [Need],
}

#[derive(Serialize)]
struct OnePhase<'a> {
    phase: Stage,
    lanes: Vec<OneLane<'a>>,
}

#[derive(Serialize)]
struct OneLane<'a> {
    weight: Option<i64>,
    kind: Option<&'a str>,
    entries: &'a [Entry],
}

#[derive(Serialize)]
struct OneCrossing<'a> {
    object: &'a Name,
    from: Stage,
    to: Stage,
}

/// Writes all of it, folded in no place.
pub(crate) fn write_json(out: &mut dyn Write, timelines: &[Timeline], summary: &Summary) -> io::Result<()> {
    let timelines = timelines.iter().map(OneTimeline::of).collect();
    serde_json::to_writer_pretty(&mut *out, &Document { version: 1, timelines, summary })?;
    writeln!(out)
}

impl<'a> OneTimeline<'a> {
    fn of(timeline: &'a Timeline) -> Self {
        let crossings = Layout::new(timeline).crossings.into_iter();
        Self {
            release: &timeline.release,
            namespace: &timeline.namespace,
            before: timeline.before.as_ref().map(OneSide::of),
            after: OneSide::of(&timeline.after),
            crossings: crossings
                .map(|crossing| OneCrossing { object: crossing.object, from: crossing.from, to: crossing.to })
                .collect(),
            findings: &timeline.findings,
            notes: &timeline.notes,
        }
    }
}

impl<'a> OneSide<'a> {
    fn of(side: &'a Side) -> Self {
        let phase =
            |phase: &'a Phase| OnePhase { phase: phase.stage, lanes: phase.lanes.iter().map(OneLane::of).collect() };
        Self {
            operation: side.act.name(),
            revision: side.act.revision(),
            phases: side.phases.iter().map(phase).collect(),
            needs: &side.needs,
        }
    }
}

impl<'a> OneLane<'a> {
    fn of(lane: &'a Lane) -> Self {
        let (weight, kind) = match &lane.of {
            LaneOf::Weight(weight) => (Some(*weight), None),
            LaneOf::Kind(kind) => (None, Some(kind.as_str())),
        };
        Self { weight, kind, entries: &lane.entries }
    }
}
