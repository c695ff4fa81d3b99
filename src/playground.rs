//! What the playground asks: texts in, and out what the command line says of them. JSON on both sides.

mod input;
mod marks;
mod secrets;

use std::io::{self, Write};
use std::sync::Arc;

use anstream::adapter::strip_str;
use helm::record::ApplyMethod;
use json_patch::patch;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_policy::Settings;
use stable_hooks_policy::name::Name;

use crate::changes::Detail;
use crate::comparison::{Compared, Comparison};
use crate::engine::{self, Native};
use crate::fix::{Fixed, Options, fix};
use crate::input::{Document, InputError, documents, request_of, value};
use crate::judge::{Asked, Judge};
use crate::judged::{Judged, Judging, Place, Summary, ignored_on_objects};
use crate::origin::{Templates, origin};
use crate::output::Format;
use crate::render::{self, Render};
use crate::settings::RunSettings;
use crate::syncs::{Course, SyncedTexts};
use crate::timeline::{Timeline, write_human, write_svg};
use input::Input;
use marks::{Documents, Mark};

const RELEASE: &str = "release-name";
const NAMESPACE: &str = "default";
/// Of so many results the objects and calls are handed on.
const MOST_SHOWN: usize = 100;
/// As wide as the page shows the timeline's text.
const WIDTH: usize = 100;

/// What is typed into the page.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    #[serde(default)]
    settings: String,
    #[serde(flatten)]
    door: Door,
}

#[derive(Deserialize)]
#[serde(tag = "door", rename_all = "camelCase", rename_all_fields = "camelCase")]
enum Door {
    /// An install and an upgrade; two texts that Argo CD syncs.
    Renders { before: String, after: String, argocd: bool },
    /// What `fix` would mend, and what `review` says.
    Manifest { manifest: String, complete_events: bool },
    /// `AdmissionReviews`, as the policy is asked.
    Review { review: String },
}

/// What the page is told; every key is always there.
#[derive(Default, Serialize)]
struct Answer {
    errors: Vec<Problem>,
    notes: Vec<String>,
    /// As `-o json` prints it.
    report: Option<Box<RawValue>>,
    timeline: Option<Picture>,
    marks: Vec<Mark>,
    fixed: Option<Mended>,
    /// The object of each result after its patch; `None` where nothing is patched, and beyond the first hundred.
    patched: Vec<Option<String>>,
    /// Of a review, for the first hundred results.
    calls: Vec<Call>,
    /// What the inputs hold that should not be handed on unasked.
    secrets: Vec<String>,
}

/// Something that could not be judged.
#[derive(Serialize)]
struct Problem {
    input: Option<Input>,
    line: Option<usize>,
    text: String,
}

#[derive(Serialize)]
struct Picture {
    svg: String,
    text: String,
}

#[derive(Serialize)]
struct Mended {
    text: String,
    remarks: Vec<Remarked>,
}

#[derive(Serialize)]
struct Remarked {
    line: usize,
    text: String,
}

/// What the policy is asked, and what the core answers, byte for byte.
#[derive(Serialize)]
struct Call {
    payload: String,
    answer: String,
}

/// Answers the page. There is always an answer, whatever is asked.
#[must_use]
pub fn answer(question: &str) -> String {
    let answer = match serde_json::from_str::<Question>(question) {
        Ok(question) => question.answer(),
        Err(error) => {
            let text = format!("the page asks what this program does not know: {:?}", error.classify());
            Answer { errors: vec![Problem { input: None, line: None, text }], ..Answer::default() }
        }
    };
    serde_json::to_string(&answer).unwrap_or_default()
}

impl Question {
    fn answer(self) -> Answer {
        let secrets = [secrets::found(Input::Settings, &self.settings), self.door.secrets()].concat();
        let mut answer = Answer { secrets, ..Answer::default() };
        let judge = match judge(&self.settings) {
            Ok(judge) => judge,
            Err(problem) => {
                answer.errors.push(problem);
                return answer;
            }
        };
        match self.door {
            Door::Renders { before, after, argocd } => answer.renders(&judge, [&before, &after], argocd),
            Door::Manifest { manifest, complete_events } => answer.manifest(&judge, &manifest, complete_events),
            Door::Review { review } => answer.review(&judge, Input::Review, &review),
        }
        answer
    }
}

impl Door {
    /// What its texts hold that should not be handed on unasked.
    fn secrets(&self) -> Vec<String> {
        match self {
            Self::Renders { before, after, .. } => {
                [secrets::found(Input::Before, before), secrets::found(Input::After, after)].concat()
            }
            Self::Manifest { manifest, .. } => secrets::found(Input::Manifest, manifest),
            Self::Review { review } => secrets::found(Input::Review, review),
        }
    }
}

/// Who judges; settings are checked as the policy checks them.
fn judge(settings: &str) -> Result<Judge, Problem> {
    let problem = |line, text| Problem { input: Some(Input::Settings), line, text };
    let settings = match value(settings.as_bytes()) {
        Ok(Value::Null) => json!({}),
        Ok(settings @ Value::Object(_)) => settings,
        Ok(_) => return Err(problem(None, "settings are an object, with a field for each setting".to_owned())),
        Err(InputError { line, reason }) => return Err(problem(Some(line), reason.to_string())),
    };
    let judge = Judge {
        engine: Arc::new(Native::default()),
        settings: RunSettings::new(json!({})),
        cluster: Arc::default(),
        sees_cluster: false,
        metadata: None,
    };
    judge.with_settings(settings).map_err(|error| problem(None, error.to_string()))
}

impl Answer {
    fn renders(&mut self, judge: &Judge, [before, after]: [&str; 2], is_argocd: bool) {
        let inputs = [(Input::Before, before), (Input::After, after)];
        let [install, upgrade] = inputs.map(|(input, text)| self.render(input, text));
        let namespace = render::only_namespace([&install, &upgrade]).unwrap_or_else(|| NAMESPACE.to_owned());
        let none = Templates::new();
        let judge = &Judge { settings: judge.settings.for_charts(), ..judge.clone() };
        let place_of = |object: &_, path: &str| origin([&upgrade, &install], (object, path), &namespace, &none);
        let judged = if is_argocd {
            self.synced(judge, [&install, &upgrade], &namespace, place_of)
        } else {
            let comparison = Comparison {
                judge,
                cluster: &ClusterView::default(),
                source: Input::After.file(),
                release: RELEASE,
                namespace: &namespace,
                apply_method: ApplyMethod::ClientSide,
                hook_templates: &none,
                place_of: &place_of,
            };
            self.compared(&comparison, &install, &upgrade)
        };
        if let Some(judged) = judged {
            self.marks = marks::in_renders(&judged, &inputs, &namespace);
            self.report(Judging::Charts, [judged]);
        }
    }

    fn render(&mut self, input: Input, text: &str) -> Render {
        let render = Render::read(text.as_bytes());
        if render.documents.is_empty() && render.broken.is_empty() {
            self.cannot_judge(input, None, "there is no object in it");
        }
        for InputError { line, reason } in &render.broken {
            self.cannot_judge(input, Some(*line), &reason.to_string());
        }
        render
    }

    fn compared(&mut self, comparison: &Comparison<'_>, install: &Render, upgrade: &Render) -> Option<Judged> {
        let compared = match comparison.two_renders(install, upgrade) {
            Ok(compared) => compared,
            Err(reason) => {
                self.errors.push(Problem { input: None, line: None, text: reason });
                return None;
            }
        };
        let Compared { before, after: (record, judged), .. } = &compared;
        let before = before.as_ref().map(|(record, judged)| (record, judged.as_ref()));
        let limits = comparison.judge.settings.record_limits();
        let timeline = Timeline::of_records(before, (record, judged), |_| None, limits, false);
        self.draw(timeline.as_slice());
        Some(compared.judged())
    }

    fn synced(
        &mut self,
        judge: &Judge,
        [first, next]: [&Render; 2],
        namespace: &str,
        place_of: impl Fn(&Name, &str) -> Option<Place>,
    ) -> Option<Judged> {
        let settings = judge.native_settings().ok()?;
        let texts = SyncedTexts {
            course: Course::TwoTexts,
            source: Input::After.file(),
            name: RELEASE,
            namespace,
            old: Some(first),
            new: next,
            again: None,
            as_revision_2: None,
            warnings: &[],
        };
        let synced = texts.judge(&settings, Detail::Fields, place_of);
        self.draw(&[Timeline::of_syncs(&synced)]);
        Some(synced.judged())
    }

    fn manifest(&mut self, judge: &Judge, manifest: &str, complete_events: bool) {
        let Ok(settings) = judge.native_settings() else { return };
        self.mend(manifest, &settings, complete_events);
        self.review(judge, Input::Manifest, manifest);
    }

    fn mend(&mut self, manifest: &str, settings: &Settings, complete_events: bool) {
        let Fixed { stream, remarks } = fix(manifest.as_bytes(), Options { settings, complete_events });
        let remarks = remarks.iter().map(|remark| Remarked { line: remark.line, text: remark.to_string() }).collect();
        self.fixed = Some(Mended { text: String::from_utf8_lossy(&stream).into_owned(), remarks });
    }

    fn review(&mut self, judge: &Judge, input: Input, text: &str) {
        let found: Vec<_> = documents(text.as_bytes()).collect();
        let starts = found.iter().map(|document| match document {
            Ok(document) => document.line,
            Err(error) => error.line,
        });
        let places = Documents::new(text, starts.collect());
        if found.is_empty() {
            self.cannot_judge(input, None, "there is no object in it");
        }
        let is_alone = found.len() == 1;
        let mut results = Vec::new();
        for document in found {
            let document = match document {
                Ok(document) => document,
                Err(InputError { line, reason }) => {
                    self.cannot_judge(input, Some(line), &reason.to_string());
                    continue;
                }
            };
            let line = document.line;
            match self.reviewed(judge, input, document, is_alone) {
                Ok(judged) => {
                    self.marks.extend(places.marks(&judged, input, line, results.len()));
                    results.push(judged);
                }
                Err(reason) => self.cannot_judge(input, Some(line), &reason),
            }
        }
        self.report(Judging::Objects { all: false }, results);
    }

    fn reviewed(
        &mut self,
        judge: &Judge,
        input: Input,
        Document { number, line, template, content }: Document,
        is_alone: bool,
    ) -> Result<Judged, String> {
        let source = content.naming().source(input.file(), number, is_alone);
        let request = request_of(content, false);
        let settings = judge.settings.handed();
        let place = Place { file: input.file().to_owned(), line: Some(line) };
        let of_place = format!("{place}: ");
        let asked = Asked { source, place, request: request.clone() };
        let judged = asked.judged(judge.engine.as_ref(), settings);
        // The page says the place in its own way.
        let judged = judged.map_err(|error| error.trim_start_matches(&of_place).to_owned())?;
        let template = (!template.is_empty()).then_some(Place { file: template, line: None });
        let judged = judged.in_templates(|_, _| template.clone());
        let is_shown = self.patched.len() < MOST_SHOWN;
        if is_shown && input == Input::Review {
            let payload = engine::payload(&request, settings);
            let answer = judge.engine.validate(&payload).unwrap_or_default();
            self.calls.push(Call { payload: in_text(payload), answer: in_text(answer) });
        }
        self.patched.push(if is_shown { patched(request, &judged) } else { None });
        Ok(judged)
    }

    fn cannot_judge(&mut self, input: Input, line: Option<usize>, text: &str) {
        self.errors.push(Problem { input: Some(input), line, text: text.to_owned() });
    }

    fn draw(&mut self, timelines: &[Timeline]) {
        let svg = written(|out| write_svg(out, timelines));
        let text = strip_str(&written(|out| write_human(out, timelines, WIDTH))).to_string();
        self.timeline = Some(Picture { svg, text });
    }

    fn report(&mut self, judging: Judging, results: impl IntoIterator<Item = Judged>) {
        let mut writer = Format::Json.writer(judging);
        let mut summary = Summary::default();
        let report = written(|out| {
            writer.begin(out)?;
            for judged in results {
                summary.count(&judged);
                writer.result(out, &judged)?;
            }
            writer.end(out, &summary)
        });
        if summary.ignored > 0 {
            self.notes.push(ignored_on_objects(summary.ignored));
        }
        self.report = RawValue::from_string(report).ok();
    }
}

/// The object after its patch, as JSON for people.
fn patched(mut request: Value, judged: &Judged) -> Option<String> {
    if judged.patch.is_empty() {
        return None;
    }
    let object = request.get_mut("object")?;
    patch(object, &judged.patch).ok()?;
    serde_json::to_string_pretty(object).ok()
}

fn in_text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_default()
}

/// What a writer writes. A text in memory takes everything.
fn written(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    let _ = write(&mut bytes);
    in_text(bytes)
}
