//! Walks through the templates without rendering them: both sides of every decision, every call.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::rc::Rc;

use gotmpl::parse::{BranchNode, CommandNode, Expr, ListNode, Node, Number, PipeNode};
use serde_json::Value;

use super::effort::{begin_file, is_spent};
use super::functions::{self, Templates};
use super::line::Line;
use super::notes::{Gap, Notes, OF_THE_DOT, Role};
use super::reading::{Literal, Reading, Writes, found};
use super::scope::Scope;
use super::source::{self, Source};
use super::words::{holds_hook, holds_object, names_hook};

/// Far above what the largest charts take, so that a walk ends.
const MOST_STEPS: usize = 150_000;
const DEEPEST_CALL: usize = 40;
/// A call inside of that many is one of a template that follows its values down, and counts as many steps.
const DEEP_CALL: usize = 12;
const STEPS_OF_A_DEEP_CALL: usize = 300;
/// How often a template calls itself before what it is given is no longer told apart.
const DEEPEST_RECURSION: usize = 3;
/// How many different dots a named template is walked with; what is more is walked as one.
const MOST_DOTS: usize = 48;
/// How often a loop is walked, so that a turn reads what the one before has assigned.
const MOST_TURNS: usize = 2;

/// A named template that was walked with that dot.
struct Call {
    decision: usize,
    /// The decisions that its dot hangs on.
    input: usize,
    unit: usize,
    writes: Writes,
    /// What it has written into the maps of its dot.
    effects: Effects,
}

/// What a call is known by: the template, the file where its dot hangs on decisions, and the dot.
type Key = (String, Option<usize>, Reading);

/// The caller's numbers of the maps that a call was given, by its own; or all of them, as one.
struct Given {
    maps: BTreeMap<usize, usize>,
    all: BTreeSet<usize>,
}

impl Given {
    fn of(maps: BTreeMap<usize, usize>, are_one: bool) -> Self {
        if are_one {
            return Self { maps: BTreeMap::new(), all: maps.into_keys().collect() };
        }
        Self { maps: maps.into_iter().map(|(map, seen)| (seen, map)).collect(), all: BTreeSet::new() }
    }
}

type Effects = BTreeMap<usize, Reading>;

/// How often something was met.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    hooks: usize,
    objects: usize,
}

/// The calls of one named template that have begun.
#[derive(Debug, Default)]
struct Dots {
    walked: usize,
    open: usize,
    /// All dots that were too many.
    rest: Reading,
}

pub(super) struct Walker<'c> {
    values: &'c Value,
    named: BTreeMap<String, Rc<ListNode>>,
    /// Values that are templates, parsed.
    texts: BTreeMap<String, Option<Rc<ListNode>>>,
    pub(super) notes: Notes,
    file: usize,
    /// The decisions that the place in the template hangs on.
    around: Vec<usize>,
    /// Where the function stands that is called, and how many maps it has made.
    site: (usize, usize),
    line: Line,
    calls: BTreeMap<Key, Call>,
    /// The calls that have not come to their ends, with their decisions and walks.
    open: BTreeMap<Key, (usize, usize)>,
    dots: BTreeMap<String, Dots>,
    /// What was written since the last command, and what the template that is being walked has written.
    written: Effects,
    effects: Effects,
    /// How many variables were assigned anew, and maps written into.
    assigned: usize,
    depth: usize,
    steps: usize,
    met: Met,
}

impl<'c> Walker<'c> {
    pub(super) fn new(values: &'c Value) -> Self {
        Self {
            values,
            named: BTreeMap::new(),
            texts: BTreeMap::new(),
            notes: Notes::default(),
            file: 0,
            around: Vec::new(),
            site: (0, 0),
            line: Line::default(),
            calls: BTreeMap::new(),
            open: BTreeMap::new(),
            dots: BTreeMap::new(),
            written: Effects::new(),
            effects: Effects::new(),
            assigned: 0,
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
    pub(super) fn read(&mut self, name: &str, text: &str) -> Result<(), String> {
        let Source { body, defined } = source::parse(name, text)?;
        for (name, body) in defined {
            if !source::is_empty(&body) || !self.named.contains_key(&name) {
                self.named.insert(name, Rc::new(body));
            }
        }
        self.named.insert(name.to_owned(), Rc::new(body));
        Ok(())
    }

    /// Walks through a file, with the decisions that it hangs on as a whole. Gives the top of its chart with all that
    /// the templates have written there.
    pub(super) fn walk(&mut self, file: usize, name: &str, around: &[usize], dot: Reading) -> Reading {
        begin_file();
        let Some(body) = self.named.get(name).cloned() else { return dot };
        self.file = file;
        self.around = around.to_vec();
        self.line = Line::default();
        self.effects.clear();
        self.dots.clear();
        let (_, before) = self.notes.begin(Some(file));
        let mut scope = Scope::of(dot);
        self.list(&body, &mut scope);
        self.notes.end(before);
        scope.top().clone()
    }

    /// What stands here hangs on all decisions around.
    fn meet(&mut self, role: Role) {
        if self.depth == 0 {
            self.notes.makes.insert((role, self.file));
        }
        match role {
            Role::Hook => self.met.hooks += 1,
            Role::Object => self.met.objects += 1,
        }
        for id in &self.around {
            self.notes.decides(*id, role, self.file);
        }
    }

    /// Tells whether a loop is left in it: what follows then hangs on the decisions around that.
    fn list(&mut self, list: &ListNode, scope: &mut Scope) -> bool {
        let variables = scope.declared();
        let leaves = list.nodes.iter().fold(false, |leaves, node| self.node(node, scope) | leaves);
        scope.forget_from(variables);
        leaves
    }

    fn node(&mut self, node: &Node, scope: &mut Scope) -> bool {
        self.steps += 1;
        if self.steps > MOST_STEPS || is_spent() {
            self.notes.is_too_large = true;
            return false;
        }
        match node {
            Node::Text(text) => self.text(&text.text),
            Node::Action(action) => self.action(&action.pipe, scope),
            Node::If(branch) => return self.branch(branch, scope, false),
            Node::With(branch) => return self.branch(branch, scope, true),
            Node::Range(branch) => self.range(branch, scope),
            Node::Template(call) => {
                let dot = call.pipe.as_ref().map(|pipe| self.value(pipe, scope).0).unwrap_or_default();
                let written = self.call(&call.name, dot);
                self.spread(scope);
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
            self.line.push(piece);
            if names_hook(piece) && !self.line.is_comment() {
                self.meet(Role::Hook);
            }
            if self.line.is_object() {
                self.meet(Role::Object);
            }
            if lines.peek().is_some() {
                self.line = Line::default();
            }
        }
    }

    fn action(&mut self, pipe: &PipeNode, scope: &mut Scope) {
        let (value, id) = self.value(pipe, scope);
        if !pipe.decl.is_empty() {
            self.assign(pipe, &[value], scope, &[]);
            return;
        }
        self.notes.record(id, &value);
        self.meet_written(&value);
        if value.writes().names_hook || self.writes(&value, holds_hook) || self.line.names_hook() {
            self.notes.decides(id, Role::Hook, self.file);
            self.meet(Role::Hook);
        }
        if value.writes().names_object || self.writes(&value, holds_object) || self.line.asks_for_kind() {
            self.notes.decides(id, Role::Object, self.file);
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

    /// One of the values that are written holds that.
    fn writes(&self, value: &Reading, holds: fn(&Value) -> bool) -> bool {
        let patterns = value.all_patterns().into_iter().filter(|pattern| !pattern.0.is_empty());
        patterns.into_iter().any(|pattern| found(&pattern, self.values).into_iter().any(holds))
    }

    fn branch(&mut self, branch: &BranchNode, scope: &mut Scope, sets_dot: bool) -> bool {
        let (value, id) = self.value(&branch.pipe, scope);
        self.notes.record(id, &value);
        let (variables, line) = (scope.declared(), self.line.clone());
        self.assign(&branch.pipe, std::slice::from_ref(&value), scope, &[]);
        self.around.push(id);
        if sets_dot {
            scope.enter(value);
        }
        let mut leaves = self.list(&branch.body, scope);
        if sets_dot {
            scope.leave();
        }
        let after = self.leave_line(id, line);
        if let Some(other) = &branch.else_body {
            leaves |= self.list(other, scope);
        }
        self.line.or(after);
        scope.forget_from(variables);
        if !leaves {
            self.around.pop();
        }
        leaves
    }

    /// A block in a line ends that the line may as well have gone on without.
    fn leave_line(&mut self, id: usize, before: Line) -> Line {
        if self.line.begins_kind(&before) {
            self.notes.decides(id, Role::Object, self.file);
        }
        mem::replace(&mut self.line, before)
    }

    fn range(&mut self, branch: &BranchNode, scope: &mut Scope) {
        let (value, id) = self.value(&branch.pipe, scope);
        self.notes.record(id, &value);
        let around = self.around.len();
        self.around.push(id);
        let variables = scope.declared();
        let mut item = value.entry(None);
        item.decisions.insert(id);
        let mut number = functions::names_in(&value);
        number.decisions.insert(id);
        let assigned = if branch.pipe.decl.len() > 1 { vec![number, item.clone()] } else { vec![item.clone()] };
        self.assign(&branch.pipe, &assigned, scope, &[id]);
        let (declared, line) = (scope.declared(), self.line.clone());
        for turn in 0..MOST_TURNS {
            self.line.clone_from(&line);
            let before = scope.assigned();
            let assigned = self.assigned;
            scope.enter(item.clone());
            self.list(&branch.body, scope);
            scope.leave();
            scope.forget_from(declared);
            let is_same = scope.assigned() == before;
            // A turn that changes nothing needs no other; what only hangs on something new is read once more.
            if is_same && (turn > 0 || self.assigned == assigned) {
                break;
            }
        }
        self.around.truncate(around + 1);
        let after = self.leave_line(id, line);
        if let Some(other) = &branch.else_body {
            self.list(other, scope);
        }
        self.line.or(after);
        scope.forget_from(variables);
        self.around.truncate(around);
    }

    fn assign(&mut self, pipe: &PipeNode, values: &[Reading], scope: &mut Scope, on: &[usize]) {
        for (name, value) in pipe.decl.iter().zip(values) {
            let mut value = value.clone().bounded();
            value.decisions.extend(self.around.iter().chain(on));
            self.notes.gather(&mut value);
            if pipe.is_assign {
                self.assigned += 1;
                scope.assign(name, value);
            } else {
                scope.declare(name, value);
            }
        }
    }

    /// A pipeline's value, and the decision that it is.
    fn value(&mut self, pipe: &PipeNode, scope: &mut Scope) -> (Reading, usize) {
        let id = self.notes.decision();
        self.notes.reading.push(id);
        let mut value = self.pipe(pipe, scope);
        self.notes.reading.pop();
        if !pipe.decl.is_empty() {
            value.decisions.insert(id);
        }
        self.notes.gather(&mut value);
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
            self.site = (command.pos.offset, 0);
            let result = functions::call(self, name, &arguments);
            self.spread(scope);
            return result;
        }
        // A method, of `.Files` for example.
        let mut value = self.expression(first, scope);
        if !arguments.is_empty() {
            value.is_made = true;
        }
        self.notes.uses(&arguments);
        for argument in arguments {
            value.join(argument);
        }
        value
    }

    /// What was written into maps is seen under all of their names.
    fn spread(&mut self, scope: &mut Scope) {
        for (map, effect) in mem::take(&mut self.written) {
            scope.write(&BTreeSet::from([map]), &effect);
        }
    }

    fn expression(&mut self, expression: &Expr, scope: &mut Scope) -> Reading {
        let literal = |literal| Reading { literals: BTreeSet::from([literal]), ..Reading::default() };
        match expression {
            Expr::Dot(_) => scope.dot().clone(),
            Expr::Field(_, fields) => {
                let dot = scope.dot().clone();
                self.fields(dot, fields.iter().map(AsRef::as_ref))
            }
            Expr::Variable(_, name, fields) => {
                let value = scope.variable(name).cloned().unwrap_or_default();
                self.fields(value, fields.iter().map(AsRef::as_ref))
            }
            Expr::Identifier(_, name) => {
                let result = functions::call(self, name, &[]);
                self.spread(scope);
                result
            }
            Expr::String(_, text) => Reading { writes: Writes::text(names_hook(text)), ..Reading::of_text(text) },
            Expr::Number(_, Number::Int(number)) => literal(Literal::Number(*number)),
            Expr::Bool(_, value) => literal(Literal::Bool(*value)),
            Expr::Number(..) | Expr::Nil(_) => Reading::hanging(BTreeSet::new()),
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
                self.notes.gap(Gap::Capabilities);
            }
            value.entry(Some(field))
        })
    }

    /// Walks through a named template, or finds that this was done.
    fn call_body(&mut self, name: &str, dot: Reading, body: &ListNode) -> Reading {
        let on = self.notes.on(&dot);
        let mut maps = BTreeMap::new();
        let dot = dot.bounded().seen_by_call(&mut maps, OF_THE_DOT);
        let (key, is_one_of_many) = self.key(name, dot);
        let maps = Given::of(maps, is_one_of_many);
        if let Some(call) = self.calls.get(&key) {
            self.notes.calls(call.unit);
            if let Some(input) = self.notes.decisions.get_mut(call.input) {
                input.on.extend(on);
            }
            let (made, input, effects) = (call.made(), call.input, call.effects.clone());
            self.write_effects(effects, &maps, input);
            return made;
        }
        if self.depth >= DEEPEST_CALL {
            self.notes.is_too_large = true;
            return Reading::hanging(BTreeSet::new());
        }
        // A template that calls itself with the same dot would never end.
        if let Some((decision, unit)) = self.open.get(&key).copied() {
            self.notes.calls(unit);
            return Reading { is_copy: true, ..Reading::hanging(BTreeSet::from([decision])) };
        }
        let call = self.walk_call(&key, body, on);
        self.open.remove(&key);
        let (made, input, effects) = (call.made(), call.input, call.effects.clone());
        self.calls.insert(key, call);
        self.write_effects(effects, &maps, input);
        made
    }

    /// What a call is known by; dots that are too many are one.
    fn key(&mut self, name: &str, dot: Reading) -> (Key, bool) {
        // Callers in other files give it what hangs on other decisions.
        let file = if dot.all_decisions().is_empty() { None } else { Some(self.file) };
        let key = (name.to_owned(), file, dot);
        let dots = self.dots.entry(key.0.clone()).or_default();
        let is_known = self.calls.contains_key(&key) || self.open.contains_key(&key);
        if is_known || (dots.walked < MOST_DOTS && dots.open < DEEPEST_RECURSION) {
            return (key, false);
        }
        dots.rest.join(key.2);
        dots.rest = mem::take(&mut dots.rest).folded();
        // Their maps are one, too.
        dots.rest.maps = BTreeSet::from([0]);
        ((key.0, file, dots.rest.clone()), true)
    }

    fn walk_call(&mut self, key: &Key, body: &ListNode, on: BTreeSet<usize>) -> Call {
        let (name, _, dot) = key;
        let (decision, input) = (self.notes.decision(), self.notes.decision());
        if let Some(input) = self.notes.decisions.get_mut(input) {
            input.on = on;
        }
        self.enters(name, 1);
        let (met, input_before) = (self.met, self.notes.input.replace(input));
        let (unit, unit_before) = self.notes.begin(None);
        self.open.insert(key.clone(), (decision, unit));
        // What is written there stands where the caller writes the result, if it does.
        let caller = (mem::take(&mut self.around), mem::take(&mut self.notes.reading), mem::take(&mut self.line));
        let effects = mem::take(&mut self.effects);
        self.list(body, &mut Scope::of(dot.clone()));
        let effects = mem::replace(&mut self.effects, effects);
        (self.around, self.notes.reading, self.line) = caller;
        self.notes.end(unit_before);
        self.notes.input = input_before;
        self.enters(name, -1);
        let end = self.notes.decisions.len();
        if let Some(decision) = self.notes.decisions.get_mut(decision) {
            decision.inside = input..end;
        }
        let (calls_hook, calls_object) = (self.met.hooks > met.hooks, self.met.objects > met.objects);
        let writes = Writes { calls_hook, calls_object, ..Writes::default() };
        Call { decision, input, unit, writes, effects }
    }

    fn enters(&mut self, name: &str, by: isize) {
        self.depth = self.depth.saturating_add_signed(by);
        if self.depth > DEEP_CALL {
            self.steps += STEPS_OF_A_DEEP_CALL;
        }
        let dots = self.dots.entry(name.to_owned()).or_default();
        dots.open = dots.open.saturating_add_signed(by);
        dots.walked += usize::from(by > 0);
    }

    /// What a call has written into maps that its caller knows.
    fn write_effects(&mut self, effects: Effects, given: &Given, input: usize) {
        for (map, effect) in effects {
            let effect = effect.seen_by_caller(&given.maps, OF_THE_DOT, input);
            let effect = self.here(effect);
            match given.maps.get(&map) {
                Some(map) => self.note_effect(*map, effect),
                None if map == 0 => given.all.iter().for_each(|map| self.note_effect(*map, effect.clone())),
                None => {}
            }
        }
    }

    fn note_effect(&mut self, map: usize, mut effect: Reading) {
        self.assigned += 1;
        self.notes.gather(&mut effect);
        for effects in [&mut self.written, &mut self.effects] {
            let known = effects.entry(map).or_default();
            known.join(effect.clone());
            *known = mem::take(known).bounded();
            self.notes.gather(known);
        }
    }
}

impl Call {
    /// What it has made, as a value.
    fn made(&self) -> Reading {
        Reading { writes: self.writes, is_copy: true, ..Reading::hanging(BTreeSet::from([self.decision])) }
    }
}

impl Templates for Walker<'_> {
    fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }

    fn values(&self) -> &Value {
        self.values
    }

    fn called(&self, name: &str) -> Vec<String> {
        let is_called = |known: &&String| *known == name || (name.starts_with('/') && known.ends_with(name));
        self.named.keys().filter(is_called).cloned().collect()
    }

    fn call(&mut self, name: &str, dot: Reading) -> Reading {
        let Some(body) = self.named.get(name).cloned() else { return Reading::hanging(BTreeSet::new()) };
        self.call_body(name, dot, &body)
    }

    fn call_text(&mut self, text: &str, dot: Reading) -> Reading {
        if !text.contains("{{") {
            return Reading { writes: Writes::text(names_hook(text)), ..Reading::of_text(text) };
        }
        let parse = || source::parse("", text).ok().map(|source| Rc::new(source.body));
        match self.texts.entry(text.to_owned()).or_insert_with(parse).clone() {
            Some(body) => self.call_body(text, dot, &body),
            None => Reading::hanging(BTreeSet::new()),
        }
    }

    fn new_map(&mut self, map: Reading) -> Reading {
        let number = self.notes.map(self.site);
        self.site.1 += 1;
        Reading { maps: BTreeSet::from([number]), is_copy: true, ..map }
    }

    fn write(&mut self, map: &Reading, effect: Reading) {
        let effect = if map.is_inside { effect.somewhere() } else { effect };
        for map in &map.maps {
            self.note_effect(*map, effect.clone());
        }
    }

    fn here(&self, mut value: Reading) -> Reading {
        value.decisions.extend(&self.around);
        value
    }
}
