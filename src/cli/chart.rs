//! `chart`: what the release rules say to a chart, rendered as an install and as the upgrade over it.

mod arguments;
mod causes;
mod compare;
mod history;
mod many;
mod outline;
pub(super) mod renders;
mod sweep;
mod syncs;
mod task;
mod trial;
mod upgraded;

use super::outcome::{Failure, Outcome};
use super::run::Run;
use crate::judged::Judging;
pub(super) use arguments::{Arguments, RenderArguments};
pub(super) use compare::{compare_one, judge};
pub(super) use syncs::sync_one;

pub(super) fn run(arguments: &Arguments) -> Result<Outcome, Failure> {
    let mut run = Run::new(&arguments.judge.output, Judging::Charts);
    let judged = many::judge(arguments, &mut run);
    run.told(judged);
    run.finish(arguments.judge.fail_on)
}
