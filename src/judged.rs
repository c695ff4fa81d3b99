//! Results, for people: one object, what was said about it, and where that stands.

mod flip;
mod place;

use std::collections::BTreeSet;
use std::mem;

use json_patch::Patch;
use serde::de::DeserializeOwned;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::finding::{self, Needed};
use stable_hooks_policy::ignore::IGNORE;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::note::{Note, NoteKind};
use stable_hooks_policy::rule::Effect;
use stable_hooks_policy::verdict::Found;
use stable_hooks_policy::wire::{FINDINGS_ANNOTATION, IGNORED_ANNOTATION, NOTES_ANNOTATION};

use crate::changes::ShownChange;
use crate::engine::Answer;
pub(crate) use flip::{Flip, ValueChange, VersionRuns};
pub(crate) use place::{Level, Place};

/// The outcome of a run, in numbers.
#[derive(Debug, Default, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    pub(crate) objects: usize,
    pub(crate) denied: usize,
    pub(crate) normalized: usize,
    pub(crate) warned: usize,
    /// Findings that are not among the results, because somebody said so.
    pub(crate) ignored: usize,
    /// Something could not be judged; standard error says what.
    #[serde(skip)]
    pub(crate) is_partial: bool,
}

/// What a run judges, as people are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judging {
    /// Requests and manifests; those that are allowed without a word are only counted, unless all are wanted.
    Objects {
        all: bool,
    },
    Revisions,
    Charts,
}

/// One object and what was said about it.
#[derive(Debug, Serialize)]
pub(crate) struct Judged {
    pub(crate) source: String,
    #[serde(skip)]
    pub(crate) place: Place,
    /// What was judged, in words for people, where that is no object of a cluster.
    #[serde(skip)]
    pub(crate) title: Option<String>,
    pub(crate) operation: String,
    pub(crate) object: Name,
    pub(crate) verdict: Verdict,
    pub(crate) findings: Vec<Finding>,
    /// Those that are only counted: their object has switched the rule off.
    #[serde(skip)]
    pub(crate) ignored: Vec<Finding>,
    pub(crate) patch: Patch,
    /// The hooks, where they are compared with those before, in the order in which they run; those that are gone come last.
    pub(crate) hooks: Vec<HookRun>,
    /// The objects that change sides between versions of a chart, where all its versions are compared.
    pub(crate) flips: Vec<Flip>,
}

/// A hook, when it runs, and what became of it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct HookRun {
    /// Its events, or the phase of a sync; empty where Helm knows none of them.
    pub(crate) at: String,
    /// The name of the weight: `wave` under Argo CD.
    pub(crate) rank: &'static str,
    pub(crate) weight: i64,
    pub(crate) object: Name,
    pub(crate) since: Since,
}

/// What became of a hook since the record or text before.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Since {
    New,
    Unchanged,
    Changed(Vec<ShownChange>),
    /// It is not what it was, and one of the two cannot be read.
    Unread,
    /// It was a resource.
    FromResource(Vec<ShownChange>),
    /// It is a resource now.
    ToResource,
    /// Nothing runs it any more.
    Gone,
}

/// What a request is about.
pub(crate) struct Subject {
    operation: String,
    object: Name,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Verdict {
    Allow,
    Normalize,
    Deny,
}

/// A finding as the policy reports it, and where in a chart it comes from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Finding {
    /// `None` for what no rule says: a note, or the words of another policy.
    #[serde(serialize_with = "or_empty")]
    pub(crate) rule: Option<String>,
    /// The kind of a note of our policy.
    #[serde(skip)]
    pub(crate) note: Option<NoteKind>,
    pub(crate) level: Level,
    pub(crate) object: Name,
    pub(crate) path: String,
    pub(crate) message: String,
    pub(crate) help: String,
    #[serde(skip_serializing)]
    pub(crate) needs: Option<Needed>,
    /// In the chart, where that is known.
    #[serde(default)]
    pub(crate) template: Option<Place>,
    /// The values of the chart whose change makes it, each by itself; no policy knows them.
    #[serde(skip_deserializing)]
    pub(crate) values: Vec<ValueChange>,
}

impl Summary {
    pub(crate) fn count(&mut self, judged: &Judged) {
        self.objects += 1;
        self.denied += usize::from(judged.verdict == Verdict::Deny);
        self.normalized += usize::from(judged.verdict == Verdict::Normalize);
        self.warned += usize::from(judged.findings.iter().any(|finding| finding.level == Level::Warn));
        self.ignored += judged.ignored.len();
    }
}

/// How many findings are ignored: the beginning of a sentence.
pub(crate) fn are_ignored(count: usize) -> String {
    if count == 1 { "1 finding is ignored".to_owned() } else { format!("{count} findings are ignored") }
}

/// The same of those that the objects themselves name.
pub(crate) fn ignored_on_objects(count: usize) -> String {
    format!("{}, as {IGNORE} says on the objects", are_ignored(count))
}

impl HookRun {
    /// When it runs, and what became of it, around its name.
    pub(crate) fn words(&self) -> (String, &'static str) {
        let Self { at, rank, weight, .. } = self;
        let comma = if at.is_empty() { "" } else { ", " };
        let is = match &self.since {
            Since::New => "is new",
            Since::Unchanged => "is unchanged",
            Since::Changed(_) => "has changed",
            Since::Unread => "has changed, but cannot be read",
            Since::FromResource(_) => "was no hook, but a resource",
            Since::ToResource => "is no hook any more, but a resource",
            Since::Gone => "is not run any more",
        };
        (format!("{at}{comma}{rank} {weight}"), is)
    }

    /// The fields that changed.
    pub(crate) fn changes(&self) -> &[ShownChange] {
        match &self.since {
            Since::Changed(changes) | Since::FromResource(changes) => changes,
            Since::New | Since::Unchanged | Since::Unread | Since::ToResource | Since::Gone => &[],
        }
    }
}

impl Serialize for HookRun {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let since = match &self.since {
            Since::New => "new",
            Since::Unchanged => "unchanged",
            Since::Changed(_) => "changed",
            Since::Unread => "unread",
            Since::FromResource(_) => "from-resource",
            Since::ToResource => "to-resource",
            Since::Gone => "gone",
        };
        let mut fields = serializer.serialize_struct("HookRun", 5)?;
        fields.serialize_field("object", &self.object)?;
        fields.serialize_field("at", &self.at)?;
        fields.serialize_field("weight", &self.weight)?;
        fields.serialize_field("since", since)?;
        fields.serialize_field("changes", self.changes())?;
        fields.end()
    }
}

impl Judged {
    pub(crate) fn new(source: String, place: Place, Subject { operation, object }: Subject, answer: Answer) -> Self {
        let verdict = match (answer.response.accepted, answer.patch.is_empty()) {
            (false, _) => Verdict::Deny,
            (true, true) => Verdict::Allow,
            (true, false) => Verdict::Normalize,
        };
        let findings = findings(&object, &answer);
        let ignored = listed(&answer, IGNORED_ANNOTATION).unwrap_or_default();
        Self {
            source,
            place,
            title: None,
            operation,
            object,
            verdict,
            findings,
            ignored,
            patch: answer.patch,
            hooks: Vec::new(),
            flips: Vec::new(),
        }
    }

    /// A result of the rules for charts, which no policy is asked for.
    pub(crate) fn of_application(name: &str, (source, place): (String, Place), found: Found) -> Self {
        let [group, kind, namespace, name] = ["argoproj.io", "Application", "", name].map(str::to_owned);
        let object = Name { group, kind, namespace, name };
        Self::with_nothing("SYNC", object, (source, place)).with_found(found)
    }

    /// The result of the upgrades between the versions of a chart, whose records have that name.
    pub(crate) fn of_versions(
        record: Name,
        source: (String, Place),
        flips: Vec<Flip>,
        (findings, ignored): (Vec<Finding>, Vec<Finding>),
    ) -> Self {
        let is_denied = findings.iter().any(|finding| finding.level == Level::Deny);
        let verdict = if is_denied { Verdict::Deny } else { Verdict::Allow };
        Self { verdict, findings, ignored, flips, ..Self::with_nothing("CREATE", record, source) }
    }

    fn with_nothing(operation: &str, object: Name, (source, place): (String, Place)) -> Self {
        Self {
            source,
            place,
            title: None,
            operation: operation.to_owned(),
            object,
            verdict: Verdict::Allow,
            findings: Vec::new(),
            ignored: Vec::new(),
            patch: Patch::default(),
            hooks: Vec::new(),
            flips: Vec::new(),
        }
    }

    /// Adds what the rules for charts have found.
    pub(crate) fn with_found(mut self, found: Found) -> Self {
        let [findings, ignored] =
            [found.findings, found.ignored].map(|found| found.into_iter().map(Finding::from).collect());
        self.add(findings, ignored);
        self.with_warnings(&found.notes.into_iter().map(|note| note.message).collect::<Vec<_>>())
    }

    pub(crate) fn add(&mut self, findings: Vec<Finding>, ignored: Vec<Finding>) {
        self.findings.extend(findings);
        self.ignored.extend(ignored);
        if self.findings.iter().any(|finding| finding.level == Level::Deny) {
            self.verdict = Verdict::Deny;
        }
    }

    /// One result of two that were asked for one thing: the other's object, and what both found, once.
    pub(crate) fn followed_by(self, mut other: Self) -> Self {
        other.verdict = other.verdict.max(self.verdict);
        let about = |finding: &Finding| (finding.rule.clone(), finding.object.clone());
        let denied = other.findings.iter().filter(|finding| finding.level == Level::Deny);
        let denied: BTreeSet<_> = denied.map(about).collect();
        let mut findings = self.findings;
        // What is only warned about here and denied there is said once.
        findings.retain(|finding| finding.level == Level::Deny || !denied.contains(&about(finding)));
        findings.extend(mem::take(&mut other.findings));
        let mut known = BTreeSet::new();
        other.findings = findings.into_iter().filter(|finding| known.insert(finding.clone())).collect();
        other.ignore_too(self.ignored);
        other
    }

    /// Counts what another result ignores as well, each rule of an object once.
    pub(crate) fn ignore_too(&mut self, others: Vec<Finding>) {
        for other in others {
            if !self.ignored.iter().any(|known| (&known.rule, &known.object) == (&other.rule, &other.object)) {
                self.ignored.push(other);
            }
        }
    }

    pub(crate) fn with_hooks(self, hooks: Vec<HookRun>) -> Self {
        Self { hooks, ..self }
    }

    /// The verdict and the findings are those of another result.
    pub(crate) fn says_the_same_as(&self, other: &Self) -> bool {
        (self.verdict, &self.findings, &self.hooks, &self.flips)
            == (other.verdict, &other.findings, &other.hooks, &other.flips)
    }

    pub(crate) fn of_source(self, source: String) -> Self {
        Self { source, ..self }
    }

    pub(crate) fn called(self, title: String) -> Self {
        Self { title: Some(title), ..self }
    }

    /// Says of each finding in which template its object's field is written.
    pub(crate) fn in_templates(mut self, template_of: impl Fn(&Name, &str) -> Option<Place>) -> Self {
        for finding in self.findings.iter_mut().chain(&mut self.ignored) {
            finding.template = template_of(&finding.object, &finding.path);
        }
        self
    }

    /// Adds to findings why there is such a one: a sentence, and the changed values that make it.
    pub(crate) fn explained(mut self, cause: impl Fn(&Finding) -> Option<(String, Vec<ValueChange>)>) -> Self {
        for finding in &mut self.findings {
            let Some((says, values)) = cause(finding) else { continue };
            finding.message = format!("{} {says}", finding.message);
            finding.values = values;
        }
        self
    }

    /// A rule has asked what is live, and there was no cluster to answer.
    pub(crate) fn lacks_a_view(&self) -> bool {
        self.findings.iter().any(|finding| finding.note == Some(NoteKind::NoView))
    }

    /// Drops the notes about a missing cluster.
    pub(crate) fn where_no_cluster_was_given(mut self) -> Self {
        self.findings.retain(|finding| finding.note != Some(NoteKind::NoView));
        self
    }

    /// Only those of its findings that are to be kept, and the verdict that they come to.
    pub(crate) fn retaining(mut self, keep: impl Fn(&Finding) -> bool) -> Self {
        self.findings.retain(&keep);
        self.ignored.retain(keep);
        let findings = &self.findings;
        let is_found =
            |flip: &Flip| findings.iter().any(|found| (&found.object, found.level) == (&flip.object, flip.level));
        self.flips.retain(is_found);
        if self.findings.iter().all(|finding| finding.level != Level::Deny) {
            self.verdict = if self.patch.is_empty() { Verdict::Allow } else { Verdict::Normalize };
        }
        self
    }

    /// It has that finding too, wherever that is written.
    pub(crate) fn has(&self, finding: &Finding) -> bool {
        let says = |finding: &Finding| (finding.object.clone(), finding.cause());
        self.findings.iter().any(|other| says(other) == says(finding))
    }

    pub(crate) fn has_found(&self, rule: RuleId) -> bool {
        self.findings.iter().any(|finding| finding.is_of(rule))
    }

    /// Adds warnings that are no rule's findings.
    pub(crate) fn with_warnings(mut self, warnings: &[String]) -> Self {
        let object = self.object.clone();
        self.findings.extend(warnings.iter().map(|message| of_text(&object, Level::Warn, message)));
        self
    }

    pub(crate) fn says_something(&self) -> bool {
        self.verdict != Verdict::Allow || !self.findings.is_empty()
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Where the finding is best shown.
    pub(crate) fn place_of<'a>(&'a self, finding: &'a Finding) -> &'a Place {
        finding.place().unwrap_or(&self.place)
    }
}

impl Finding {
    pub(crate) fn is_of(&self, rule: RuleId) -> bool {
        self.rule.as_deref() == Some(rule.as_str())
    }

    /// Where its reader has to look: at the value that makes it, or at the template.
    pub(crate) fn place(&self) -> Option<&Place> {
        let value = self.values.iter().find_map(|value| value.place.as_ref());
        value.or(self.template.as_ref())
    }

    /// The rule's id, for where no rule is an empty text.
    pub(crate) fn rule_text(&self) -> &str {
        self.rule.as_deref().unwrap_or_default()
    }

    /// The field in people's words: an annotation's key, or a path from the object's top.
    pub(crate) fn field(&self) -> String {
        let tokens: Vec<_> =
            self.path.split('/').skip(1).map(|token| token.replace("~1", "/").replace("~0", "~")).collect();
        match tokens.as_slice() {
            [metadata, annotations, key] if metadata == "metadata" && annotations == "annotations" => key.clone(),
            tokens => tokens.join("."),
        }
    }

    /// What findings of one cause have in common.
    pub(crate) fn cause(&self) -> String {
        let Self { level, path, message, help, .. } = self;
        [level.as_str(), self.rule_text(), path, message, help].join("\n")
    }

    /// The whole finding in one text: which object, what was found, what to change.
    pub(crate) fn text(&self) -> String {
        let help = if self.help.is_empty() { String::new() } else { format!(" {}", self.help) };
        // A message without a rule says itself what it is about.
        if self.rule.is_none() { self.message.clone() } else { format!("{}: {}{help}", self.object, self.message) }
    }
}

impl From<finding::Finding> for Finding {
    fn from(found: finding::Finding) -> Self {
        let finding::Finding { rule, effect, object, path, message, remedy, needs, .. } = found;
        Self {
            rule: Some(rule.to_string()),
            note: None,
            level: match effect {
                Effect::Deny => Level::Deny,
                Effect::Warn => Level::Warn,
                Effect::Fix => Level::Fix,
            },
            object: object.shown(),
            path: path.as_str().to_owned(),
            message,
            help: remedy.to_string(),
            needs: needs.map(|Needed { object, field }| Needed { object: object.shown(), field }),
            template: None,
            values: Vec::new(),
        }
    }
}

/// A finding that is only a text, of no rule.
fn of_text(object: &Name, level: Level, message: &str) -> Finding {
    Finding {
        rule: None,
        note: None,
        level,
        object: object.clone(),
        path: String::new(),
        message: message.to_owned(),
        help: String::new(),
        needs: None,
        template: None,
        values: Vec::new(),
    }
}

/// The findings and notes that our policy puts into its answer; those of another policy are made of its texts.
fn findings(object: &Name, answer: &Answer) -> Vec<Finding> {
    let response = &answer.response;
    let reported: Option<Vec<Finding>> = listed(answer, FINDINGS_ANNOTATION);
    let notes: Option<Vec<Note>> = listed(answer, NOTES_ANNOTATION);
    let is_ours = reported.is_some() || notes.is_some();
    let mut findings = reported.unwrap_or_default();
    let notes = notes.unwrap_or_default();
    // A denial is never without its reason: findings, or a note on what could not be judged, or words.
    let is_refused = findings.is_empty() && !response.accepted;
    if is_refused && notes.is_empty() {
        findings.extend(response.message.iter().map(|message| of_text(object, Level::Deny, message)));
    }
    let level = if is_refused { Level::Deny } else { Level::Warn };
    for Note { kind, message } in notes {
        findings.push(Finding { note: Some(kind), ..of_text(object, level, &message) });
    }
    if !is_ours {
        findings.extend(response.warnings.iter().flatten().map(|message| of_text(object, Level::Warn, message)));
    }
    findings
}

/// The list in one of the annotations that our policy puts into its answer.
fn listed<T: DeserializeOwned>(answer: &Answer, annotation: &str) -> Option<Vec<T>> {
    let json = answer.response.audit_annotations.as_ref()?.get(annotation)?;
    serde_json::from_str(json).ok()
}

/// A finding without a rule says so by an empty text.
#[expect(clippy::ref_option, reason = "serde calls it so")]
fn or_empty<S: Serializer>(rule: &Option<String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(rule.as_deref().unwrap_or_default())
}

impl Subject {
    pub(crate) fn of(request: &Value) -> Self {
        Self { operation: text(request, "/operation").to_owned(), object: name_of(request) }
    }
}

fn name_of(request: &Value) -> Name {
    let either = |first, second| match text(request, first) {
        "" => text(request, second),
        found => found,
    };
    let names = [text(request, "/name"), either("/object/metadata/name", "/oldObject/metadata/name")];
    let prefix = text(request, "/object/metadata/generateName");
    let name = match names.into_iter().find(|name| !name.is_empty()) {
        Some(name) => name.to_owned(),
        None if prefix.is_empty() => String::new(),
        None => format!("{prefix}*"),
    };
    Name {
        group: text(request, "/kind/group").to_owned(),
        kind: text(request, "/kind/kind").to_owned(),
        namespace: either("/namespace", "/object/metadata/namespace").to_owned(),
        name,
    }
}

/// `Value::pointer` makes two strings for each field, which was a sixth of the time of a large review.
fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    let found = pointer.split('/').skip(1).try_fold(value, |value, field| value.get(field));
    found.and_then(Value::as_str).unwrap_or_default()
}
