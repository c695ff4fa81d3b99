//! Walks through the templates without rendering them: both sides of every decision, every call.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::ops::Range;
use std::rc::Rc;

use gotmpl::parse::{BranchNode, CommandNode, Expr, ListNode, Node, Number, Parser, PipeNode};
use helm::HOOK;
use serde_json::Value;

use super::functions;
use super::reading::{Key, Literal, Pattern, Reading, Writes};
use super::{Gap, Role};

/// Far above what the largest charts take, so that a walk ends.
const MOST_STEPS: usize = 4_000_000;
const DEEPEST_CALL: usize = 80;
/// In the place of the decisions that the dot of a call hangs on: each caller has others.
const OF_THE_DOT: usize = usize::MAX;

/// A pipeline, and what hangs on it.
#[derive(Debug, Default)]
pub(super) struct Decision {
    pub(super) uses: BTreeMap<Pattern, BTreeSet<Literal>>,
    /// Other decisions that it hangs on.
    pub(super) on: BTreeSet<usize>,
    /// Those inside of a named template, of whose text it is made.
    pub(super) inside: Range<usize>,
    /// The files that it was walked for.
    pub(super) files: BTreeSet<usize>,
    /// It decides about a hook, or about a Job or `ServiceAccount`.
    pub(super) role: Option<Role>,
}

/// Values that a template has written over others.
#[derive(Debug)]
pub(super) struct Written {
    pub(super) target: Pattern,
    pub(super) source: Reading,
}

/// A named template that was walked with that dot.
struct Call {
    decision: usize,
    /// The decisions that its dot hangs on.
    input: usize,
    /// One past the last decision in it.
    end: usize,
    /// It writes a hook; a Job or a `ServiceAccount`.
    writes: (bool, bool),
}

/// How often something was met.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    hooks: usize,
    objects: usize,
}

/// Dot, `$` and the variables.
#[derive(Clone)]
pub(super) struct Scope {
    dot: Reading,
    top: Reading,
    variables: Vec<(String, Reading)>,
}

pub(super) struct Walker<'c> {
    pub(super) values: &'c Value,
    named: BTreeMap<String, Rc<ListNode>>,
    pub(super) decisions: Vec<Decision>,
    pub(super) written: Vec<Written>,
    pub(super) gaps: BTreeSet<Gap>,
    /// The files that make hooks.
    pub(super) of_hooks: BTreeSet<usize>,
    pub(super) file: usize,
    /// Those that the place in the template hangs on.
    around: Vec<usize>,
    /// The pipelines that are being read, the innermost last.
    reading: Vec<usize>,
    /// What stands in the line so far.
    line: String,
    calls: BTreeMap<(String, Reading), Call>,
    open: BTreeSet<(String, Reading)>,
    /// The input of the named template that is being walked.
    input: Option<usize>,
    depth: usize,
    steps: usize,
    met: Met,
}

impl Scope {
    pub(super) fn of(dot: Reading) -> Self {
        Self { top: dot.clone(), dot, variables: Vec::new() }
    }

    fn variable(&self, name: &str) -> Option<&Reading> {
        self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    fn variable_mut(&mut self, name: &str) -> Option<&mut Reading> {
        self.variables.iter_mut().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

impl<'c> Walker<'c> {
    pub(super) fn new(values: &'c Value) -> Self {
        Self {
            values,
            named: BTreeMap::new(),
            decisions: Vec::new(),
            written: Vec::new(),
            gaps: BTreeSet::new(),
            of_hooks: BTreeSet::new(),
            file: 0,
            around: Vec::new(),
            reading: Vec::new(),
            line: String::new(),
            calls: BTreeMap::new(),
            open: BTreeSet::new(),
            input: None,
            depth: 0,
            steps: 0,
            met: Met::default(),
        }
    }

    /// Reads a template's file, and the named templates in it; the later one of a name counts.
    ///
    /// # Errors
    ///
    /// When it does not parse, in the parser's words.
    pub(super) fn read(&mut self, name: &str, source: &str) -> Result<(), String> {
        let parsed = Parser::with_name(Some(name), source, "{{", "}}").and_then(Parser::parse);
        let (body, defined) = parsed.map_err(|error| error.to_string())?;
        for define in defined {
            self.named.insert(define.name.to_string(), Rc::new(define.body));
        }
        self.named.insert(name.to_owned(), Rc::new(body));
        Ok(())
    }

    /// The templates of that name. Of a file's name only the end may be known, the rest being `.Template.BasePath`.
    pub(super) fn called(&self, name: &str) -> Vec<String> {
        let is_called = |known: &&String| *known == name || (name.starts_with('/') && known.ends_with(name));
        self.named.keys().filter(is_called).cloned().collect()
    }

    /// Walks through a file, with the decisions that it hangs on as a whole.
    pub(super) fn walk(&mut self, file: usize, name: &str, around: &[usize], dot: Reading) {
        let Some(body) = self.named.get(name).cloned() else { return };
        self.file = file;
        self.calls.clear();
        self.around = around.to_vec();
        self.line.clear();
        self.list(&body, &mut Scope::of(dot));
    }

    /// A decision that no template makes, about these values.
    pub(super) fn decide(&mut self, patterns: impl IntoIterator<Item = Pattern>) -> usize {
        let id = self.decision();
        if let Some(decision) = self.decisions.get_mut(id) {
            decision.uses.extend(patterns.into_iter().map(|pattern| (pattern, BTreeSet::new())));
        }
        id
    }

    fn decision(&mut self) -> usize {
        let files = BTreeSet::from([self.file]);
        self.decisions.push(Decision { files, ..Decision::default() });
        self.decisions.len() - 1
    }

    /// What stands here hangs on all decisions around.
    fn meet(&mut self, role: Role) {
        if role == Role::Hook && self.depth == 0 {
            self.of_hooks.insert(self.file);
        }
        match role {
            Role::Hook => self.met.hooks += 1,
            Role::Object => self.met.objects += 1,
        }
        for id in self.around.clone() {
            self.decides(id, role);
        }
    }

    fn decides(&mut self, id: usize, role: Role) {
        let file = self.file;
        if let Some(decision) = self.decisions.get_mut(id) {
            decision.role = decision.role.max(Some(role));
            decision.files.insert(file);
        }
    }

    /// Tells whether a loop is left in it: what follows then hangs on the decisions around that.
    fn list(&mut self, list: &ListNode, scope: &mut Scope) -> bool {
        let variables = scope.variables.len();
        let leaves = list.nodes.iter().fold(false, |leaves, node| self.node(node, scope) | leaves);
        scope.variables.truncate(variables);
        leaves
    }

    fn node(&mut self, node: &Node, scope: &mut Scope) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS {
            self.gaps.insert(Gap::TooLarge);
            return false;
        }
        match node {
            Node::Text(text) => self.text(&text.text),
            Node::Action(action) => self.action(&action.pipe, scope),
            Node::If(branch) => return self.branch(branch, scope, |_, _| {}),
            Node::With(branch) => return self.branch(branch, scope, |scope, value| scope.dot = value),
            Node::Range(branch) => self.range(branch, scope),
            Node::Template(call) => {
                let dot = call.pipe.as_ref().map(|pipe| self.value(pipe, scope).0).unwrap_or_default();
                let written = self.call(&call.name, dot);
                self.meet_written(&written);
            }
            Node::List(list) => return self.list(list, scope),
            Node::Break(_) | Node::Continue(_) => return true,
            Node::Define(_) => {}
        }
        false
    }

    fn text(&mut self, text: &str) {
        let mut lines = text.split('\n').peekable();
        while let Some(piece) = lines.next() {
            self.line.push_str(piece);
            if names_hook(piece) && !self.line.trim_start().starts_with('#') {
                self.meet(Role::Hook);
            }
            if kind_of(&self.line).is_some_and(is_judged) {
                self.meet(Role::Object);
            }
            if lines.peek().is_some() {
                self.line.clear();
            }
        }
    }

    fn action(&mut self, pipe: &PipeNode, scope: &mut Scope) {
        let (value, id) = self.value(pipe, scope);
        if !pipe.decl.is_empty() {
            self.assign(pipe, &[value], scope);
            return;
        }
        self.record(id, &value);
        self.meet_written(&value);
        if value.writes().names_hook || self.writes_hook(&value) || names_hook(&self.line) {
            self.decides(id, Role::Hook);
            self.meet(Role::Hook);
        }
        if kind_of(&self.line) == Some("") {
            self.decides(id, Role::Object);
            self.meet(Role::Object);
        }
    }

    /// What named templates have written stands here now.
    fn meet_written(&mut self, value: &Reading) {
        let Writes { calls_hook, calls_object, .. } = value.writes();
        if calls_hook {
            self.meet(Role::Hook);
        }
        if calls_object {
            self.meet(Role::Object);
        }
    }

    /// A value that is written has the annotation's key in it.
    fn writes_hook(&self, value: &Reading) -> bool {
        value
            .all_patterns()
            .iter()
            .any(|pattern| !pattern.0.is_empty() && found(pattern, self.values).iter().any(|value| holds_hook(value)))
    }

    fn branch(&mut self, branch: &BranchNode, scope: &mut Scope, enter: impl FnOnce(&mut Scope, Reading)) -> bool {
        let (value, id) = self.value(&branch.pipe, scope);
        self.record(id, &value);
        let (variables, dot, line) = (scope.variables.len(), scope.dot.clone(), self.line.clone());
        self.assign(&branch.pipe, std::slice::from_ref(&value), scope);
        self.around.push(id);
        enter(scope, value);
        let mut leaves = self.list(&branch.body, scope);
        scope.dot = dot;
        if let Some(other) = &branch.else_body {
            let line = mem::replace(&mut self.line, line);
            leaves |= self.list(other, scope);
            self.line = line;
        }
        scope.variables.truncate(variables);
        if !leaves {
            self.around.pop();
        }
        leaves
    }

    fn range(&mut self, branch: &BranchNode, scope: &mut Scope) {
        let (value, id) = self.value(&branch.pipe, scope);
        self.record(id, &value);
        let around = self.around.len();
        self.around.push(id);
        let (variables, dot) = (scope.variables.len(), scope.dot.clone());
        let mut item = value.entry(None);
        item.decisions.insert(id);
        let number = Reading { decisions: BTreeSet::from([id]), ..Reading::default() };
        let assigned = if branch.pipe.decl.len() > 1 { vec![number, item.clone()] } else { vec![item.clone()] };
        self.assign(&branch.pipe, &assigned, scope);
        scope.dot = item;
        // What one turn assigns the next one may read.
        for _ in 0..2 {
            let before = scope.variables.clone();
            self.list(&branch.body, scope);
            if scope.variables == before {
                break;
            }
        }
        self.around.truncate(around + 1);
        scope.dot = dot;
        if let Some(other) = &branch.else_body {
            self.list(other, scope);
        }
        scope.variables.truncate(variables);
        self.around.truncate(around);
    }

    fn assign(&mut self, pipe: &PipeNode, values: &[Reading], scope: &mut Scope) {
        for (name, value) in pipe.decl.iter().zip(values) {
            let mut value = value.clone();
            value.decisions.extend(&self.around);
            match scope.variable_mut(name) {
                Some(known) if pipe.is_assign => known.join(value),
                _ => scope.variables.push((name.to_string(), value)),
            }
        }
    }

    /// A pipeline's value, and the decision that it is.
    fn value(&mut self, pipe: &PipeNode, scope: &mut Scope) -> (Reading, usize) {
        let id = self.decision();
        self.reading.push(id);
        let mut value = self.pipe(pipe, scope);
        self.reading.pop();
        if !pipe.decl.is_empty() {
            value.decisions.insert(id);
        }
        (value, id)
    }

    fn pipe(&mut self, pipe: &PipeNode, scope: &mut Scope) -> Reading {
        pipe.commands.iter().fold(None, |piped, command| Some(self.command(command, piped, scope))).unwrap_or_default()
    }

    fn command(&mut self, command: &CommandNode, piped: Option<Reading>, scope: &mut Scope) -> Reading {
        let Some((first, rest)) = command.args.split_first() else { return piped.unwrap_or_default() };
        let mut arguments: Vec<_> = rest.iter().map(|argument| self.expression(argument, scope)).collect();
        arguments.extend(piped);
        if let Expr::Identifier(_, name) = first {
            let variable = rest.first().and_then(|argument| match argument {
                Expr::Variable(_, name, fields) if fields.is_empty() => Some(name.as_str()),
                _ => None,
            });
            let result = functions::call(self, name, &arguments);
            // `set` and `merge` write into the map that they are given.
            if functions::writes(name)
                && let Some(known) = variable.and_then(|name| scope.variable_mut(name))
            {
                let mut result = result.clone();
                result.decisions.extend(&self.around);
                known.join(result);
            }
            return result;
        }
        // A method, of `.Files` for example.
        let mut value = self.expression(first, scope);
        arguments.iter().for_each(|argument| self.use_of(argument));
        arguments.into_iter().for_each(|argument| value.join(argument));
        value
    }

    fn expression(&mut self, expression: &Expr, scope: &mut Scope) -> Reading {
        match expression {
            Expr::Dot(_) => scope.dot.clone(),
            Expr::Field(_, fields) => self.fields(scope.dot.clone(), fields.iter().map(AsRef::as_ref)),
            Expr::Variable(_, name, fields) => {
                let value = if name == "$" { Some(&scope.top) } else { scope.variable(name) };
                let value = value.cloned().unwrap_or_default();
                self.fields(value, fields.iter().map(AsRef::as_ref))
            }
            Expr::Identifier(_, name) => functions::call(self, name, &[]),
            Expr::String(_, text) => Reading { writes: Writes::text(names_hook(text)), ..Reading::of_text(text) },
            Expr::Number(_, Number::Int(number)) => {
                Reading { literals: BTreeSet::from([Literal::Number(*number)]), ..Reading::default() }
            }
            Expr::Bool(_, value) => Reading { literals: BTreeSet::from([Literal::Bool(*value)]), ..Reading::default() },
            Expr::Number(..) | Expr::Nil(_) => Reading::default(),
            Expr::Pipe(_, pipe) => self.pipe(pipe, scope),
            Expr::Chain(_, inner, fields) => {
                let value = self.expression(inner, scope);
                self.fields(value, fields.iter().map(AsRef::as_ref))
            }
        }
    }

    fn fields<'f>(&mut self, value: Reading, fields: impl Iterator<Item = &'f str>) -> Reading {
        fields.fold(value, |value, field| {
            if field == "Capabilities" && !value.tops.is_empty() {
                self.gaps.insert(Gap::Capabilities(self.file));
            }
            value.entry(Some(field))
        })
    }

    /// The pipeline that is being read hangs on a value.
    pub(super) fn use_of(&mut self, value: &Reading) {
        if let Some(id) = self.reading.last() {
            self.record(*id, value);
        }
    }

    fn record(&mut self, id: usize, value: &Reading) {
        let on = self.on(value);
        let Some(decision) = self.decisions.get_mut(id) else { return };
        decision.on.extend(on);
        for pattern in value.all_patterns() {
            decision.uses.entry(pattern).or_default();
        }
    }

    /// The decisions that a value hangs on; those of the dot of a call are that call's input.
    fn on(&self, value: &Reading) -> BTreeSet<usize> {
        let own = |id| if id == OF_THE_DOT { self.input } else { Some(id) };
        value.all_decisions().into_iter().filter_map(own).collect()
    }

    /// A value is compared with these.
    pub(super) fn compared(&mut self, value: &Reading, literals: &BTreeSet<Literal>) {
        let decision = self.reading.last().and_then(|id| self.decisions.get_mut(*id));
        let Some(decision) = decision else { return };
        for pattern in value.all_patterns() {
            decision.uses.entry(pattern).or_default().extend(literals.iter().cloned());
        }
    }

    /// What a named template writes, as a value.
    pub(super) fn call(&mut self, name: &str, dot: Reading) -> Reading {
        let Some(body) = self.named.get(name).cloned() else { return Reading::default() };
        self.call_body((name.to_owned(), dot), &body)
    }

    /// A text that is a template of its own.
    pub(super) fn call_text(&mut self, text: &str, dot: Reading) -> Reading {
        if !text.contains("{{") {
            return Reading { writes: Writes::text(names_hook(text)), ..Reading::default() };
        }
        let parsed = Parser::new(text, "{{", "}}").and_then(Parser::parse);
        match parsed {
            Ok((body, _)) => self.call_body((text.to_owned(), dot), &Rc::new(body)),
            Err(_) => Reading::default(),
        }
    }

    fn call_body(&mut self, (name, dot): (String, Reading), body: &ListNode) -> Reading {
        let on = self.on(&dot);
        let key = (name, dot.hanging_on(OF_THE_DOT));
        let made = |id, (calls_hook, calls_object)| Reading {
            decisions: BTreeSet::from([id]),
            writes: Writes { names_hook: false, calls_hook, calls_object },
            ..Reading::default()
        };
        if let Some(Call { decision, input, end, writes }) = self.calls.get(&key) {
            let (id, input, end, writes) = (*decision, *input, *end, *writes);
            if let Some(input) = self.decisions.get_mut(input) {
                input.on.extend(on);
            }
            let file = self.file;
            for inner in self.decisions.get_mut(id..end).unwrap_or_default() {
                inner.files.insert(file);
            }
            return made(id, writes);
        }
        if self.depth >= DEEPEST_CALL {
            self.gaps.insert(Gap::TooLarge);
            return Reading::default();
        }
        // A template that calls itself with the same dot would never end.
        if !self.open.insert(key.clone()) {
            return Reading::default();
        }
        let (id, input) = (self.decision(), self.decision());
        if let Some(input) = self.decisions.get_mut(input) {
            input.on = on;
        }
        self.depth += 1;
        let (met, input_before) = (self.met, self.input.replace(input));
        // What is written there stands where the caller writes the result, if it does.
        let caller = (mem::take(&mut self.around), mem::take(&mut self.reading), mem::take(&mut self.line));
        self.list(body, &mut Scope::of(key.1.clone()));
        (self.around, self.reading, self.line) = caller;
        self.input = input_before;
        self.depth -= 1;
        self.open.remove(&key);
        let end = self.decisions.len();
        if let Some(decision) = self.decisions.get_mut(id) {
            decision.inside = id + 1..end;
        }
        let writes = (self.met.hooks > met.hooks, self.met.objects > met.objects);
        self.calls.insert(key, Call { decision: id, input, end, writes });
        made(id, writes)
    }
}

/// The annotation that makes a hook, and not one of those that only go with it.
fn names_hook(text: &str) -> bool {
    text.match_indices(HOOK).any(|(at, _)| {
        let next = text.get(at + HOOK.len()..).and_then(|rest| rest.chars().next());
        !matches!(next, Some('-' | '.') | Some('a'..='z'))
    })
}

/// The rest of a line that says an object's kind.
fn kind_of(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix("kind:")?;
    Some(rest.trim().trim_matches(['"', '\'']))
}

fn is_judged(kind: &str) -> bool {
    ["Job", "ServiceAccount"].contains(&kind)
}

/// The values that stand at a pattern.
pub(super) fn found<'v>(pattern: &Pattern, values: &'v Value) -> Vec<&'v Value> {
    pattern.0.iter().fold(vec![values], |values, key| {
        let below = values.into_iter().flat_map(|value| match (key, value) {
            (Key::Named(key), value) => value.get(key).into_iter().collect::<Vec<_>>(),
            (Key::Any, Value::Object(fields)) => fields.values().collect(),
            (Key::Any, Value::Array(items)) => items.iter().collect(),
            (Key::Any, _) => Vec::new(),
        });
        below.collect()
    })
}

fn holds_hook(value: &Value) -> bool {
    match value {
        Value::String(text) => names_hook(text),
        Value::Array(items) => items.iter().any(holds_hook),
        Value::Object(fields) => fields.iter().any(|(key, value)| names_hook(key) || holds_hook(value)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}
