//! Charts that are made by chance, of every construct that a template has; all of them render.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::mem;

use serde_json::{Value, json};

use super::chance::Chance;
use super::grammar;

/// How many values there are of each sort, and how many of them one file reads.
const VALUES: usize = 6;
const READ: usize = 3;

const MOST_DOCUMENTS: usize = 6;
const DEEPEST: usize = 3;

/// What a template may name where it stands.
#[derive(Debug, Clone)]
struct Place {
    /// The top of the chart, where there is a way to it.
    top: Option<String>,
    dot: &'static str,
    /// Variables, and the entries of a map that is the dot.
    known: Vec<(String, String)>,
}

/// A named template: how it is given what it reads, and what it makes.
#[derive(Debug, Clone)]
struct Named {
    name: String,
    form: usize,
    sort: String,
}

/// Writes the templates of one chart.
struct Writer<'c> {
    chance: &'c mut Chance,
    name: String,
    /// Named templates: in the chart's own file of them, before its plain objects, in the library.
    defines: [String; 3],
    named: Vec<Named>,
    numbers: usize,
    /// The first of the values that the file reads.
    first: usize,
    documents: usize,
    is_judged: bool,
    has_effects: bool,
    /// Where the values are, from the top on.
    values: Vec<String>,
}

/// A chart with many generated ones as its subcharts, and one of those named templates that all of them use.
pub(crate) fn parent(seed: u64, charts: usize) -> BTreeMap<String, String> {
    let chance = &mut Chance::new(seed);
    let mut files = BTreeMap::new();
    let mut dependencies = String::new();
    let mut library = LIBRARY.to_owned();
    let mut values = json!({"tags": {"t0": true, "t1": chance.one_in(2), "t2": chance.one_in(2)}});
    values["global"] = own_values(chance);
    let mut reachable = Vec::new();
    for (key, value) in own_values(chance).as_object().unwrap() {
        values[key] = value.clone();
    }
    for number in 0..charts {
        let name = format!("c{number}");
        let key = if number % 3 == 0 { format!("sub{number}") } else { name.clone() };
        write!(dependencies, "- {{name: {name}, version: 0.1.0").unwrap();
        if key != name {
            write!(dependencies, ", alias: {key}").unwrap();
        }
        match number % 8 {
            0 => write!(dependencies, ", condition: \"{key}.enabled,global.b{}\"", number % VALUES).unwrap(),
            4 => write!(dependencies, ", tags: [t{}]", number % 3).unwrap(),
            _ => reachable.extend([format!("Values.{key}"), format!("Subcharts.{key}.Values")]),
        }
        dependencies += "}\n";
        subchart(&format!("charts/{name}/"), &name, number, &mut files, &mut library, chance);
        values[&key] = if number % 2 == 0 { own_values(chance) } else { json!({}) };
    }
    reachable.truncate(8);
    for (name, place) in [("root", "templates/"), ("z", "templates/deep/")] {
        let written = Writer::new(chance, name, reachable.clone()).chart();
        written.put(place, &mut files, &mut library);
    }
    files.insert("charts/lib/templates/_lib.tpl".to_owned(), library);
    files.insert("charts/lib/Chart.yaml".to_owned(), metadata("lib", "type: library\n"));
    files.insert("templates/_a.tpl".to_owned(), over("b0"));
    files.insert("templates/_b.tpl".to_owned(), over("b1"));
    files.insert("Chart.yaml".to_owned(), metadata("parent", &format!("dependencies:\n{dependencies}")));
    files.insert("values.yaml".to_owned(), values.to_string());
    files
}

/// A chart below another one, and perhaps one more below it.
fn subchart(
    folder: &str,
    name: &str,
    number: usize,
    files: &mut BTreeMap<String, String>,
    library: &mut String,
    chance: &mut Chance,
) {
    let own = vec!["Values".to_owned()];
    Writer::new(chance, name, own.clone()).chart().put(&format!("{folder}templates/"), files, library);
    let mut values = own_values(chance);
    let mut more = String::new();
    if number.is_multiple_of(5) {
        let key = if number.is_multiple_of(2) { "inner" } else { "in" };
        more = format!(
            "dependencies:\n- {{name: inner, version: 0.1.0, alias: {key}, condition: {key}.enabled, \
             import-values: [data, {{child: m0, parent: im}}]}}\n"
        );
        let inner = format!("{name}.inner");
        let folder = format!("{folder}charts/inner/");
        Writer::new(chance, &inner, own).chart().put(&format!("{folder}templates/"), files, library);
        let mut below = own_values(chance);
        below["exports"] = json!({"data": {"i0": chance.one_in(2)}});
        files.insert(format!("{folder}values.yaml"), below.to_string());
        files.insert(format!("{folder}Chart.yaml"), metadata("inner", ""));
        values[key] = json!({"enabled": !chance.one_in(3)});
    }
    files.insert(format!("{folder}values.yaml"), values.to_string());
    files.insert(format!("{folder}Chart.yaml"), metadata(name, &more));
}

fn metadata(name: &str, more: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: 0.1.0\n{more}")
}

fn over(value: &str) -> String {
    format!("{{{{ define \"over.flag\" }}}}{{{{ .Values.{value} }}}}{{{{ end }}}}")
}

const LIBRARY: &str = "{{ define \"lib.on\" }}{{ if .Values.global.b0 }}{{ .Values.b1 }}{{ end }}{{ end }}\
    {{ define \"lib.key\" }}helm.sh/hook{{ end }}\
    {{ define \"lib.fullname\" }}{{ if .Values.s2 }}{{ .Values.s2 | trunc 63 }}{{ else }}\
    {{ printf \"%s-%s\" .Release.Name (default .Chart.Name .Values.s3) }}{{ end }}{{ end }}\
    {{ define \"lib.map\" }}{{ $top := first . }}{{ $over := index . 1 }}\
    {{ toYaml (merge (dict) $over $top.Values.m2) }}{{ end }}\n";

/// Named templates that each chart has of its own.
const HELPERS: &str = "{{ define \"<name>.is\" }}{{ .x }}{{ end }}\
    {{ define \"<name>.put\" }}{{ $_ := set .to \"on\" .v }}{{ end }}\
    {{ define \"<name>.walk\" }}{{ if .n }}{{ .n.on }}{{ include \"<name>.step\" (dict \"n\" .n.sub \"b\" .b) }}{{ end }}{{ end }}\
    {{ define \"<name>.step\" }}{{ .n.flag }}{{ include \"<name>.walk\" (dict \"n\" .n.none) }}{{ .b }}{{ end }}\n";

fn own_values(chance: &mut Chance) -> Value {
    let mut values = json!({"enabled": !chance.one_in(3)});
    for number in 0..VALUES {
        let mut put = |key: &str, value: Value| values[format!("{key}{number}")] = value;
        let template =
            [".Values.b0", ".Values.m0.on", "and .Values.b1 .Values.b2", "include \"lib.on\" ."][chance.below(4)];
        put("b", json!(chance.one_in(2)));
        put("s", json!(chance.pick(&["on", "off", "x", ""])));
        put("n", json!(chance.below(4)));
        put("m", map(chance));
        put("l", (0..chance.below(3)).map(|_| map(chance)).collect());
        put("ls", (0..chance.below(3)).map(|_| json!(chance.pick(&["on", "off", "x"]))).collect());
        put("mm", json!({"one": map(chance), "two": map(chance)}));
        put("t", json!(format!("{{{{ {template} }}}}")));
        put("k", json!(chance.pick(&["Job", "ConfigMap", "Pod"])));
        put("a", if chance.one_in(2) { json!({"a": "b"}) } else { json!({"helm.sh/hook": "test"}) });
        put("o", if chance.one_in(2) { json!([]) } else { json!([object("Job")]) });
        put("ot", json!(manifest(chance.pick(&["Job", "ConfigMap"]))));
    }
    values
}

fn map(chance: &mut Chance) -> Value {
    json!({"on": chance.one_in(2), "name": chance.pick(&["on", "off", "x"]), "sub": {"flag": chance.one_in(2)}})
}

pub(crate) fn object(kind: &str) -> Value {
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "x"}})
}

pub(crate) fn manifest(kind: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: {{{{ .Values.s0 | quote }}}}")
}

/// The templates of one chart.
struct Written {
    job: String,
    more: String,
    plain: String,
    helpers: String,
    library: String,
}

impl Written {
    fn put(self, folder: &str, files: &mut BTreeMap<String, String>, library: &mut String) {
        let own =
            [("job.yaml", self.job), ("more.yaml", self.more), ("plain.yaml", self.plain), ("_h.tpl", self.helpers)];
        files.extend(own.map(|(name, text)| (format!("{folder}{name}"), text)));
        *library += &self.library;
    }
}

impl<'c> Writer<'c> {
    fn new(chance: &'c mut Chance, name: &str, values: Vec<String>) -> Self {
        Self {
            chance,
            name: name.to_owned(),
            defines: Default::default(),
            named: Vec::new(),
            numbers: 0,
            first: 0,
            documents: 0,
            is_judged: true,
            has_effects: false,
            values,
        }
    }

    fn chart(mut self) -> Written {
        let [job, mut more, plain] = [true, true, false].map(|is_judged| self.file(is_judged));
        if self.chance.one_in(2) {
            more.clear();
        }
        let [own, beside, library] = mem::take(&mut self.defines);
        Written { job, more, plain: beside + &plain, helpers: HELPERS.replace("<name>", &self.name) + &own, library }
    }

    fn file(&mut self, is_judged: bool) -> String {
        self.is_judged = is_judged;
        self.has_effects = is_judged && self.chance.one_in(4);
        self.first = self.chance.below(VALUES);
        self.documents = 0;
        let place = Place { top: Some("$".to_owned()), dot: "top", known: Vec::new() };
        let blocks = 1 + self.chance.below(3);
        (0..blocks).map(|_| self.piece("block", &place, DEEPEST, 1)).collect()
    }

    /// One of these that can stand there, with all of its words filled.
    fn one_of(&mut self, all: &[&'static str], place: &Place, depth: usize, terms: usize) -> String {
        let words = ["<values", "<top>", "<block:top>"];
        let fits = |text: &&&str| place.top.is_some() || !words.iter().any(|word| text.contains(word));
        let all: Vec<_> = all.iter().filter(fits).copied().collect();
        let text = self.chance.pick(&all);
        self.fill(text, place, depth, terms)
    }

    fn fill(&mut self, text: &str, place: &Place, depth: usize, terms: usize) -> String {
        let mut place = place.clone();
        let (mut newest, mut filled, mut rest) = ((String::new(), String::new()), String::new(), text);
        while let Some((before, after)) = rest.split_once('<') {
            let (word, after) = after.split_once('>').unwrap();
            filled += before;
            rest = after;
            match word.split_once(':') {
                Some(("new", sort)) => {
                    newest = (format!("$v{}", self.number()), sort.to_owned());
                    filled += &newest.0;
                }
                Some(("call", sort)) => write!(filled, "(include {})", self.call(sort, &place, depth, terms)).unwrap(),
                Some(("template", sort)) => {
                    write!(filled, "template {}", self.call(sort, &place, depth, terms)).unwrap();
                }
                Some((sort, "map")) => {
                    filled += &self.piece(sort, &Place { dot: "map", ..place.clone() }, depth, terms);
                }
                Some((sort, "top")) => {
                    filled += &self.piece(sort, &Place { dot: "top", ..place.clone() }, depth, terms);
                }
                Some((sort, _)) => filled += &self.piece(sort, &Place { dot: "text", ..place.clone() }, depth, terms),
                None if word == "now" => place.known.push(newest.clone()),
                None if word == "last" => filled += &newest.0,
                None => filled += &self.piece(word, &place, depth, terms),
            }
        }
        filled + rest
    }

    fn number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    fn piece(&mut self, sort: &str, place: &Place, depth: usize, terms: usize) -> String {
        match sort {
            "name" => self.name.clone(),
            "id" => self.number().to_string(),
            "n" => ((self.first + self.chance.below(READ)) % VALUES).to_string(),
            "top" => place.top.clone().unwrap(),
            "values" => {
                let is_dot = place.dot == "top" && self.chance.one_in(2);
                let top = if is_dot { "" } else { place.top.as_deref().unwrap() };
                let at = self.chance.below(self.values.len());
                format!("{top}.{}", self.values[at])
            }
            "object" => self.fill(grammar::OBJECT, place, 0, 0),
            "kind" if self.is_judged => self.one_of(&grammar::KINDS, place, 0, terms),
            "kind" => "ConfigMap".to_owned(),
            "hook" if self.is_judged => self.one_of(&grammar::HOOKS, place, 0, terms),
            "hook" => "a: b".to_owned(),
            "block" => self.block(place, depth),
            _ => self.term(sort, place, terms),
        }
    }

    fn block(&mut self, place: &Place, depth: usize) -> String {
        if depth > 0 && !self.chance.one_in(5) {
            let has_effect = self.has_effects && self.chance.one_in(5);
            let all = if has_effect { &grammar::EFFECTS[..] } else { &grammar::BLOCKS };
            let terms = 1 + self.chance.below(2);
            return self.one_of(all, place, depth - 1, terms);
        }
        self.documents += 1;
        if self.documents > MOST_DOCUMENTS {
            return String::new();
        }
        if self.is_judged && self.chance.one_in(6) {
            return self.one_of(&grammar::OBJECTS, place, 0, 1);
        }
        self.fill(grammar::DOCUMENT, place, 0, 1)
    }

    /// Something that a pipeline can be, or a part of one.
    fn term(&mut self, sort: &str, place: &Place, terms: usize) -> String {
        let mut known: Vec<_> =
            place.known.iter().filter(|(_, known)| known == sort).map(|(name, _)| name.as_str()).collect();
        if place.dot == sort {
            known.push(".");
        }
        if !known.is_empty() && self.chance.one_in(2) {
            return self.chance.pick(&known).to_owned();
        }
        let (leaves, all): (&[_], &[_]) = match sort {
            "bool" => (&grammar::BOOL_LEAVES, &grammar::BOOLS),
            "text" => (&grammar::TEXT_LEAVES, &grammar::TEXTS),
            "map" => (&grammar::MAP_LEAVES, &grammar::MAPS),
            "maps" => (&grammar::MAPS_LEAVES, &grammar::LISTS),
            _ => (&grammar::TEXTS_LEAVES, &grammar::WORDS),
        };
        if terms > 0 && !self.chance.one_in(3) {
            return self.one_of(all, place, 0, terms - 1);
        }
        if place.top.is_some() {
            return self.one_of(leaves, place, 0, 0);
        }
        match sort {
            "map" => self.fill(known.first().unwrap_or(&grammar::PLAIN_MAP), place, 0, 0),
            "bool" => self.fill("(<map>).on", place, 0, 0),
            "text" => self.fill("(<map>).name", place, 0, 0),
            "maps" => self.fill("(list <map>)", place, 0, 0),
            _ => self.fill("(list <text>)", place, 0, 0),
        }
    }

    /// The name of a named template and what it is given.
    fn call(&mut self, sort: &str, place: &Place, depth: usize, terms: usize) -> String {
        let sort = if sort == "block" && !self.is_judged { "plain" } else { sort };
        let forms = if place.top.is_some() { 6 } else { 2 };
        let fits = |named: &&Named| named.sort == sort && named.form < forms;
        let known: Vec<_> = self.named.iter().filter(fits).cloned().collect();
        let Named { name, form, .. } = if !known.is_empty() && self.chance.one_in(2) {
            known[self.chance.below(known.len())].clone()
        } else {
            let form = self.chance.below(forms);
            self.define(sort, form, depth, terms)
        };
        self.documents += usize::from(sort == "block");
        let dot = [
            "<map>",
            "(dict \"m\" <map> \"t\" <text>)",
            "<top>",
            "(dict \"root\" <top> \"m\" <map> \"b\" <bool>)",
            "(list <top> <map>)",
            "(merge (dict \"more\" <bool>) <top>)",
        ][form];
        format!("\"{name}\" {}", self.fill(dot, place, 0, terms.min(1)))
    }

    fn define(&mut self, sort: &str, form: usize, depth: usize, terms: usize) -> Named {
        let known = |known: &[(&str, &str)]| {
            known.iter().map(|(name, sort)| ((*name).to_owned(), (*sort).to_owned())).collect()
        };
        let (start, top, dot, known) = match form {
            0 => ("", None, "map", known(&[("$", "map")])),
            1 => ("", None, "", known(&[("$.m", "map"), ("$.t", "text")])),
            2 => ("", Some("$"), "top", known(&[])),
            3 => ("", Some("$.root"), "", known(&[("$.m", "map"), ("$.b", "bool")])),
            4 => ("{{- $top := first . }}{{- $m := index . 1 }}", Some("$top"), "", known(&[("$m", "map")])),
            _ => ("", Some("$"), "top", known(&[("$.more", "bool")])),
        };
        let place = Place { top: top.map(str::to_owned), dot, known };
        let body = self.one_of(grammar::bodies(sort), &place, depth.saturating_sub(1), terms.saturating_sub(1));
        let number = self.number();
        let name = format!("{}.{sort}{number}", self.name);
        let file = self.chance.below(3);
        writeln!(self.defines[file], "{{{{ define \"{name}\" }}}}{start}{body}{{{{ end }}}}").unwrap();
        let named = Named { name, form, sort: sort.to_owned() };
        self.named.push(named.clone());
        named
    }
}
