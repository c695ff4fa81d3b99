//! The words of an answer: one paragraph for each cause, whatever the number of objects.

use crate::cause::{grouped, once, subject};
use crate::finding::{Finding, Outcome};
use crate::name::Name;
use crate::rule::{Effect, RuleId};
use crate::shown::{GLUE, Shown, glued};
use crate::verdict::{Recorded, Verdict};

/// The widest terminal that Helm's output is sure to fit on, in columns.
const WIDTH: usize = 98;

/// The API server cuts every warning to 256 characters where all of them have more than 4,096; some are other people's.
const MOST_WARNED: usize = 3_600;

/// How many names, templates and causes one text spells out.
const MOST_NAMES: usize = 3;
const MOST_CAUSES: usize = 6;

/// Findings of one rule that say the same of their objects: never empty.
struct Cause<'a>(Vec<&'a Finding>);

fn causes(findings: Vec<&Finding>) -> Vec<Cause<'_>> {
    let key = |finding: &&Finding| format!("{}\n{}\n{}", finding.rule, finding.message, finding.remedy.text);
    grouped(findings, &key).into_iter().map(Cause).collect()
}

fn objects<'a>(findings: &[&'a Finding]) -> Vec<&'a Name> {
    findings.iter().map(|finding| &finding.object).collect()
}

impl Cause<'_> {
    /// The objects and what was found; names the rule where nothing else does.
    fn found(&self, names_rule: bool) -> String {
        let Some(first) = self.0.first() else { return String::new() };
        let objects = once(objects(&self.0));
        let each = if objects.len() > 1 { "each " } else { "" };
        let objects = subject(objects, MOST_NAMES);
        let rule = if names_rule { format!(" (rule {})", first.rule) } else { String::new() };
        format!("{objects}: {each}{}{rule}", first.message)
    }

    fn remedy(&self) -> String {
        let Some(first) = self.0.first() else { return String::new() };
        let template = |finding: &&Finding| finding.remedy.template.clone().unwrap_or_default();
        let templates = grouped(self.0.clone(), &template);
        let named: Vec<_> = templates.iter().take(MOST_NAMES).filter_map(|group| group.first().map(template)).collect();
        let more = templates.len().saturating_sub(MOST_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let and = if templates.len() == 2 { " and " } else { ", " };
        match &first.remedy.template {
            Some(_) => format!("In {}{more}, {}", named.join(and), first.remedy.text),
            None => first.remedy.text.clone(),
        }
    }
}

/// The warnings of a verdict, each in one line: a header of HTTP carries it.
pub(super) fn warnings(verdict: &Verdict) -> Vec<String> {
    let warned = causes(verdict.findings.iter().filter(|finding| finding.effect == Effect::Warn).collect());
    let found = warned.iter().map(|cause| format!("{} {}", cause.found(true), cause.remedy()));
    let notes = verdict.notes.iter().map(|note| note.message.clone());
    let mut left = MOST_WARNED;
    let mut warnings = Vec::new();
    let mut untold = 0;
    // What could not be judged is told first: it is what must not be cut off.
    for text in notes.chain(found) {
        match left.checked_sub(text.chars().count()) {
            Some(rest) if untold == 0 => {
                left = rest;
                warnings.push(text);
            }
            _ => untold += 1,
        }
    }
    if untold > 0 {
        warnings.push(format!("stable-hooks warns of {untold} more, which find no room here."));
    }
    warnings
}

/// What Helm or kubectl prints behind "denied the request:".
pub(super) fn denial(findings: &[&Finding], release: Option<&Recorded>) -> String {
    let causes = causes(findings.to_vec());
    let rules = rules(findings);
    let mut lines = Vec::new();
    if let Some(Recorded { name, revision, .. }) = release {
        let objects = once(objects(findings));
        let count = if objects.len() == 1 { "1 object".to_owned() } else { format!("{} objects", objects.len()) };
        let rules: Vec<_> = rules.iter().map(|rule| rule.as_str()).collect();
        lines.push(format!(
            "revision {revision} of {name} was not recorded, and no object of it was touched: {count} denied by {}",
            rules.join(", ")
        ));
    }
    for cause in causes.iter().take(MOST_CAUSES) {
        lines.push(cause.found(release.is_none() || rules.len() > 1));
        lines.push(cause.remedy());
    }
    let more = causes.len().saturating_sub(MOST_CAUSES);
    if more > 0 {
        lines.push(format!("And {more} more: the audit annotation `findings` has all of them."));
    }
    lines.extend(clean_up(findings));
    lines.extend(release.map(|release| acceptance(release, &rules, &cost(findings))));
    lines.extend(rules.iter().map(|rule| rule.page()));
    on_a_terminal(lines.iter().map(String::as_str))
}

/// In the order of the registry, each once.
fn rules(findings: &[&Finding]) -> Vec<RuleId> {
    let denies = |rule: &RuleId| findings.iter().any(|finding| finding.rule == *rule);
    RuleId::ALL.iter().copied().filter(denies).collect()
}

/// The commands that take away what is live in the way of a hook.
fn clean_up(findings: &[&Finding]) -> Vec<String> {
    let in_the_way = findings.iter().filter(|finding| finding.is_in_the_way).map(|finding| &finding.object);
    let namespaces = grouped(once(in_the_way.collect()), &|object| object.namespace.clone());
    let commands = namespaces.iter().filter_map(|objects| {
        let namespace = Shown(&objects.first()?.namespace);
        let names = objects.iter().map(|object| {
            let dot = if object.group.is_empty() { "" } else { "." };
            let kind = format!("{}{dot}{}", Shown(&object.kind), Shown(&object.group)).to_lowercase();
            format!(" {kind}/{}", Shown(&object.name))
        });
        Some(format!(
            "Or, without that: once no migration runs (its logs go too), `kubectl -n {namespace} delete{}`.",
            names.collect::<String>()
        ))
    });
    commands.collect()
}

/// How this very revision is let through, and at what cost.
fn acceptance(release: &Recorded, rules: &[RuleId], cost: &str) -> String {
    let Recorded { name, revision, takes_labels, .. } = release;
    let labels: Option<Vec<_>> =
        rules.iter().map(|rule| Some(format!("`--labels {}={revision}`", rule.accept_label()?))).collect();
    if let Some(labels) = labels.filter(|_| *takes_labels) {
        let labels = labels.join(" ");
        return format!("To accept it, repeat your own command with {labels} added (Helm 3.13 or later).{cost}");
    }
    let rules: Vec<_> = rules.iter().map(|rule| rule.as_str()).collect();
    let rules = rules.join(",");
    format!("To accept it, an administrator writes `releases.accept: [\"{name}@{revision}:{rules}\"]`.{cost}")
}

/// What becomes of the objects that are accepted; empty where that is not known.
fn cost(findings: &[&Finding]) -> String {
    let of = |outcome: Outcome| -> Vec<&Name> {
        let ended = findings.iter().filter(|finding| finding.outcome == Some(outcome));
        once(ended.map(|finding| &finding.object).collect())
    };
    // Where the operation stops is all that can be known: what comes after it does not happen.
    for (outcome, what) in [(Outcome::Fails, "stops at"), (Outcome::Hangs, "waits until its timeout at")] {
        let objects = of(outcome);
        if !objects.is_empty() {
            return format!(" Its cost: Helm {what} {}, and the release fails halfway.", subject(objects, MOST_NAMES));
        }
    }
    let all = once(objects(findings)).len();
    let told = ENDS.iter().filter_map(|(outcome, phrase)| {
        let objects = of(*outcome);
        let each = match objects.len() {
            0 => return None,
            1 => "it",
            _ => "each",
        };
        let names = if objects.len() < all { subject(objects, MOST_NAMES) + ": " } else { String::new() };
        Some(format!("{names}{each} {phrase}"))
    });
    let told = told.collect::<Vec<_>>().join("; ");
    if told.is_empty() { told } else { format!(" Its cost: {told}.") }
}

/// The ends that are told of each object, in words.
const ENDS: [(Outcome, &str); 7] = [
    (Outcome::GoneUntilTheNextUpgrade, "is gone until the next upgrade"),
    (Outcome::Gone, "is gone"),
    (Outcome::MadeAnew, "is deleted and made anew"),
    (Outcome::Stays, "stays"),
    (Outcome::TakenOver, "is taken over as a resource of this release"),
    (Outcome::Lost, "is taken from the other release"),
    (Outcome::DoesNotRun, "does not run"),
];

/// Lines that fit; the first one stands behind somebody else's words, and is left to the terminal.
pub(super) fn on_a_terminal<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let fitting = lines.enumerate().map(|(place, line)| if place == 0 { line.to_owned() } else { wrapped(line) });
    fitting.collect::<Vec<_>>().join("\n")
}

/// Breaks a line at its spaces; what stands in backticks is copied from there, and stays whole.
fn wrapped(line: &str) -> String {
    let (mut text, mut width) = (String::new(), 0);
    for word in glued(line).split(' ') {
        let columns = word.chars().count();
        if width > 0 && width + 1 + columns > WIDTH {
            text.push('\n');
            width = 0;
        } else if width > 0 {
            text.push(' ');
            width += 1;
        }
        text.push_str(word);
        width += columns;
    }
    text.chars().map(|character| if character == GLUE { ' ' } else { character }).collect()
}

#[cfg(test)]
mod tests {
    use super::{WIDTH, wrapped};
    use crate::testing::test;

    #[test]
    fn a_line_is_broken_at_its_spaces_and_never_inside_of_a_command() {
        let text = wrapped(&"word ".repeat(40));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        assert_eq!(text.replace('\n', " "), "word ".repeat(40));
        let command = format!("`kubectl {}`.", "x ".repeat(60));
        assert_eq!(wrapped(&format!("run {command} then")), format!("run\n{command}\nthen"));
    }
}
