//! `upgrade`, `install`, `rollback`: Helm, after what it is about to do was judged.

mod held;
mod planned;
mod program;

use std::env;
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, ValueEnum};
use helm::operation::Told;
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::shown::Shown;

use super::arguments::{FailOn, JudgeArguments};
use super::chart;
use super::outcome::{Failure, Outcome, complain, remark, written};
use super::timeline::{self, Format};
use crate::cluster;
use crate::engine::Native;
use crate::helm::Helm;
use crate::helm::releases::Refused;
use crate::invocation::{Invocation, Verb, global_width};
use crate::judge::{Judge, is_of_values};
use crate::judged::{Judged, Judging, Place, Summary, Verdict};
use crate::kubectl::{Kubectl, KubectlError};
use crate::output;
use held::Held;
use planned::{Asking, NotPlanned, Planned, final_words};
use program::{become_helm, is_called_helm, real};

/// Options of ours where there is no place for them in the command line.
const ARGUMENTS: &str = "STABLE_HOOKS_ARGS";

/// Our own options, which stand before the verb.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Judge, show what Helm would do, and stop
    #[arg(long)]
    check_only: bool,
    /// Accept what this rule finds, for this revision: the record gets the label with which a policy in the cluster accepts it
    #[arg(long, value_name = "RULE", value_parser = accepted)]
    accept: Vec<String>,
    /// What to do where Helm's plan cannot be judged
    #[arg(long, value_enum, default_value_t = Unjudged::Stop)]
    unjudged: Unjudged,
    #[command(flatten)]
    judge: JudgeArguments<Format>,
}

/// What becomes of an operation that could not be judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Unjudged {
    /// Nothing is run, exit code 2
    Stop,
    /// Helm is run
    Run,
}

/// The options alone, as they stand before a verb.
#[derive(Debug, Parser)]
#[command(name = "stable-hooks", no_binary_name = true, args_override_self = true, disable_help_flag = true)]
struct BeforeTheVerb {
    #[command(flatten)]
    options: Options,
}

/// What the help says of the three verbs.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  stable-hooks upgrade orders ./chart -n shop -f production.yaml
  stable-hooks --check-only -o markdown upgrade orders ./chart -n shop

Everything behind the verb is Helm's and is handed to it as it is, --help too. Our own options stand before the verb, or in
STABLE_HOOKS_ARGS, with spaces between them.

Exit codes: 1 something is denied, 2 it could not be judged; Helm was not run then. Else Helm's own.")]
struct Help {
    #[command(flatten)]
    options: Options,
    /// Helm's own arguments
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    helms: Vec<OsString>,
}

/// The verbs as the help lists them; they are run by [`Called`], before anything else is read.
pub(super) fn verbs() -> impl Iterator<Item = Command> {
    Verb::ALL.into_iter().map(|verb| {
        let verb = verb.as_str();
        Help::augment_args(Command::new(verb))
            .about(format!("Judges what `helm {verb}` is about to do, and runs it where nothing is denied"))
            .override_usage(format!("stable-hooks [OPTIONS] {verb} [ARGUMENTS]..."))
    })
}

/// A command line that is Helm's.
pub(super) struct Called {
    ours: Vec<OsString>,
    helms: Vec<OsString>,
    /// This program stands in Helm's place, for all its verbs.
    is_helm: bool,
}

fn accepted(rule: &str) -> Result<String, String> {
    let known = RuleId::ALL.iter().find(|known| known.as_str() == rule);
    let label = known.and_then(|rule| rule.accept_label());
    label.ok_or_else(|| "it is no rule that a release can accept; `stable-hooks explain` lists the rules".to_owned())
}

impl Called {
    /// `None` where the command line is no one's but ours.
    pub(super) fn of(words: &[OsString]) -> Option<Self> {
        let (program, words) = words.split_first()?;
        let set = env::var(ARGUMENTS).unwrap_or_default();
        let mut ours: Vec<_> = set.split_whitespace().map(OsString::from).collect();
        if is_called_helm(program) {
            return Some(Self { ours, helms: words.to_vec(), is_helm: true });
        }
        let (before, helms) = apart(words)?;
        ours.extend(before);
        Some(Self { ours, helms, is_helm: false })
    }

    pub(super) fn run(self) -> ExitCode {
        self.guarded().unwrap_or_else(|Failure(reason)| {
            complain(&reason);
            Outcome::CouldNotJudge.into()
        })
    }

    fn guarded(self) -> Result<ExitCode, Failure> {
        let helm = if self.is_helm { real()? } else { Helm::of_the_user() };
        let Some(invocation) = Invocation::read(self.helms.clone()).filter(|given| !given.changes_nothing()) else {
            return become_helm(&helm, &self.helms);
        };
        let matches = BeforeTheVerb::command().try_get_matches_from(self.ours);
        let options = matches.and_then(|matches| BeforeTheVerb::from_arg_matches(&matches));
        let BeforeTheVerb { options } = options.map_err(|error| Failure(as_ours(&error.to_string())))?;
        options.run(&helm, invocation)
    }
}

/// clap's words without its own mark.
fn as_ours(error: &str) -> String {
    error.trim_start_matches("error: ").trim_end().to_owned()
}

/// Our options and Helm's words, where the first word that is no option is one of the three verbs.
fn apart(words: &[OsString]) -> Option<(Vec<OsString>, Vec<OsString>)> {
    let command = BeforeTheVerb::command();
    let (mut ours, mut helms) = (Vec::new(), Vec::new());
    let mut rest = words;
    loop {
        let text = rest.first()?.to_string_lossy();
        let (list, count) = match own_width(&command, &text) {
            Some(count) => (&mut ours, count),
            None if text.starts_with('-') => (&mut helms, global_width(&text)?),
            None => {
                Verb::of(rest.first()?)?;
                helms.extend_from_slice(rest);
                return Some((ours, helms));
            }
        };
        let (given, after) = rest.split_at_checked(count)?;
        list.extend_from_slice(given);
        rest = after;
    }
}

/// How many words an option of ours takes; `None` where it is none.
fn own_width(command: &Command, word: &str) -> Option<usize> {
    let (name, value) = word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)));
    let (long, letter) = (name.strip_prefix("--"), name.strip_prefix('-')?.chars().next()?);
    let is_meant =
        |option: &&Arg| if long.is_some() { option.get_long() == long } else { option.get_short() == Some(letter) };
    let option = command.get_arguments().find(is_meant)?;
    // `-ojson` has it in the same word.
    let is_attached = value.is_some() || (!name.starts_with("--") && name.chars().count() > 2);
    Some(if option.get_action().takes_values() && !is_attached { 2 } else { 1 })
}

impl Options {
    /// Judges, and becomes Helm where nothing is denied.
    fn run(&self, helm: &Helm, invocation: Invocation) -> Result<ExitCode, Failure> {
        if !self.accept.is_empty() && invocation.verb == Verb::Rollback {
            return Err(Failure(
                "--accept needs a label, and Helm's rollback takes none: `releases.accept` of --settings accepts it"
                    .to_owned(),
            ));
        }
        if self.judge.output.output != Format::Human && !self.check_only {
            return Err(Failure("-o goes with --check-only: otherwise standard output is Helm's".to_owned()));
        }
        let (invocation, inputs) = Held::of(invocation)?;
        let judge = chart::judge(&self.judge)?;
        let asking = Asking {
            helm,
            invocation: &invocation,
            accepted: &self.accept,
            limits: judge.settings.record_limits(),
            inputs: &inputs,
        };
        let flags = invocation.kubectl_flags(|name| env::var(name).ok());
        let (planned, live) = thread::scope(|scope| {
            let live = flags
                .filter(|_| !judge.sees_cluster)
                .map(|flags| scope.spawn(move || Kubectl::default().live_where(&flags)));
            let planned = asking.planned();
            (planned, live.and_then(|live| live.join().ok()))
        });
        let judged = match planned {
            Ok(planned) => self.judged(&planned, judge, &asking, live).map(|judged| (planned, judged)),
            Err(NotPlanned::Refused(refused)) => return Ok(as_helm(&refused)),
            Err(NotPlanned::Unknown { reason, said }) => {
                let _ = io::stderr().write_all(&said);
                Err(reason)
            }
        };
        // Judging may have asked Helm once more.
        inputs.rewind()?;
        match judged {
            Ok((planned, judged)) => self.told(helm, &invocation, &planned, &judged),
            Err(reason) if self.unjudged == Unjudged::Run && !self.check_only => {
                remark(&format!("{reason}: this {} is not judged", invocation.verb.as_str()));
                become_helm(helm, invocation.words())
            }
            Err(reason) => {
                let verb = invocation.verb.as_str();
                Err(Failure(format!(
                    "{reason}; helm {verb} was not run. `--unjudged run`, before the verb, runs it unjudged"
                )))
            }
        }
    }

    /// What the release rules say.
    fn judged(
        &self,
        planned: &Planned,
        judge: Judge,
        asking: &Asking<'_>,
        live: Option<Result<Vec<u8>, KubectlError>>,
    ) -> Result<Judged, String> {
        let (Planned { record, baseline, .. }, invocation) = (planned, asking.invocation);
        let (view, failure) = match live {
            Some(Ok(printed)) => match cluster::read(&printed) {
                Ok(view) => (view.within(record.namespace()), None),
                Err(error) => (ClusterView::default(), Some(error.to_string())),
            },
            // Without the program there is nobody to ask, and that is no failure.
            Some(Err(KubectlError::Missing)) => (ClusterView::default(), None),
            Some(Err(failure)) => (ClusterView::default(), Some(failure.to_string())),
            None => (judge.cluster.as_ref().clone(), None),
        };
        let judge = match self.judge.policy {
            // A policy file is asked as the cluster asks it: no record says how Helm was told to do it.
            Some(_) => judge,
            None => Judge { engine: Arc::new(Native::default().told(invocation.told())), ..judge },
        };
        let title = format!(
            "{}/{}, revision {}, {}",
            Shown(record.namespace()),
            Shown(record.release()),
            record.version(),
            invocation.verb.as_str()
        );
        let place = Place { file: title.clone(), line: None };
        let judged = judge.verdict(record, baseline.as_ref(), &view, (title.clone(), place.clone()))?;
        // What differs from one dry run to the next differs by chance.
        let again = if judged.findings().iter().any(is_of_values) { asking.planned().ok() } else { None };
        let judged = match again {
            Some(again) => judge.without_chance(judged, record, again.record, &place)?,
            None => judged,
        };
        if let Some(reason) = failure.filter(|_| judged.verdict != Verdict::Deny && judged.lacks_a_view()) {
            return Err(format!("the Jobs and ServiceAccounts that are there cannot be read: {reason}"));
        }
        let templates = record.templates(judge.settings.record_limits());
        let judged = judged.in_templates(|object, _| Some(Place { file: templates.get(object)?.clone(), line: None }));
        Ok(judged.called(title).where_no_cluster_was_given())
    }

    /// Writes what there is to say, and becomes Helm or stops.
    fn told(
        &self,
        helm: &Helm,
        invocation: &Invocation,
        planned: &Planned,
        judged: &Judged,
    ) -> Result<ExitCode, Failure> {
        let mut summary = Summary::default();
        summary.count(judged);
        let fails = summary.denied > 0 || (self.judge.fail_on == FailOn::Warn && summary.warned > 0);
        let outcome = Outcome::of(true, fails);
        if self.check_only {
            self.show(planned, judged, &summary, invocation.told())?;
            return Ok(outcome.into());
        }
        if judged.says_something() && !self.judge.output.quiet {
            // Standard output is Helm's.
            let mut out = anstream::stderr().lock();
            let mut writer = output::Format::Human.writer(Judging::Revisions);
            written(writer.result(&mut out, judged))?;
        }
        if fails {
            complain(&format!("helm {} was not run, and nothing has changed", invocation.verb.as_str()));
            return Ok(outcome.into());
        }
        become_helm(helm, &final_words(invocation, planned, &self.accept))
    }

    /// The plan: what Helm would do, beside what is there.
    fn show(&self, planned: &Planned, judged: &Judged, summary: &Summary, told: Told) -> Result<(), Failure> {
        if self.judge.output.quiet {
            return Ok(());
        }
        let plan = timeline::of_plan(&planned.record, planned.baseline.as_ref(), judged, told);
        let mut out = self.judge.output.stdout();
        let format = self.judge.output.output;
        written(timeline::write(&mut out, format, plan.as_slice(), summary).and_then(|()| out.flush()))
    }
}

/// Helm's own words and exit code.
fn as_helm(Refused { status, said }: &Refused) -> ExitCode {
    let _ = io::stderr().write_all(said);
    status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from)
}
