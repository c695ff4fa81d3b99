//! Charts that are made by chance: nested guards, loops, helpers, maps; all of them render.

use serde_json::{Value, json};

/// Numbers by chance, the same for the same seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, most: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % most
    }

    fn yes(&mut self) -> bool {
        self.below(2) == 0
    }

    fn text(&mut self) -> &'static str {
        ["on", "off", "x", ""][self.below(4)]
    }
}

pub(crate) struct Generated {
    pub(crate) values: Value,
    pub(crate) job: String,
    pub(crate) other: String,
    pub(crate) helpers: String,
}

pub(crate) fn chart(name: &str, chance: &mut Chance) -> Generated {
    let mut template = Template { name, chance, helpers: String::new(), in_map: false };
    let job = template.file(true);
    let other = template.file(false);
    let helpers = format!(
        "{{{{ define \"{name}.is\" }}}}{{{{ .x }}}}{{{{ end }}}}\
         {{{{ define \"{name}.put\" }}}}{{{{ $_ := set .to \"k\" .v }}}}{{{{ end }}}}{}",
        template.helpers
    );
    Generated { values: values(chance), job, other, helpers }
}

pub(crate) fn values(chance: &mut Chance) -> Value {
    let mut values = json!({"enabled": true, "t0": "{{ .Values.b0 }}", "t1": "{{ .Values.m0.name }}"});
    for number in 0..8 {
        values[format!("b{number}")] = json!(chance.yes());
        values[format!("s{number}")] = json!(chance.text());
    }
    for number in 0..4 {
        values[format!("m{number}")] =
            json!({"on": chance.yes(), "name": chance.text(), "sub": {"flag": chance.yes()}});
        let item = |chance: &mut Chance| json!({"on": chance.yes(), "name": chance.text()});
        let items: Vec<_> = (0..chance.below(3)).map(|_| item(chance)).collect();
        values[format!("l{number}")] = json!(items);
        values[format!("ls{number}")] = json!([chance.text(), chance.text()]);
    }
    values
}

struct Template<'c> {
    name: &'c str,
    chance: &'c mut Chance,
    helpers: String,
    /// The dot has the key `on`.
    in_map: bool,
}

impl Template<'_> {
    fn file(&mut self, is_judged: bool) -> String {
        let mut text = "{{ $v := false }}{{ $d := dict \"k\" false }}{{ $e := $d }}\n".to_owned();
        for _ in 0..3 {
            text += &self.block(3, is_judged);
        }
        text
    }

    fn block(&mut self, depth: usize, is_judged: bool) -> String {
        if depth == 0 {
            return self.document(is_judged);
        }
        let condition = self.condition(2);
        let number = self.chance.below(4);
        match self.chance.below(10) {
            0 => format!("{{{{ $v = {condition} }}}}\n{}", self.block(depth - 1, is_judged)),
            1 => {
                let inner = self.block(depth - 1, is_judged);
                format!("{{{{ if {condition} }}}}{{{{ $v = true }}}}{{{{ end }}}}\n{inner}")
            }
            2 => format!("{{{{ $_ := set $e \"k\" {condition} }}}}\n{}", self.block(depth - 1, is_judged)),
            3 => {
                let call = format!("include \"{}.put\" (dict \"to\" $d \"v\" {condition})", self.name);
                format!("{{{{ {call} }}}}\n{}", self.block(depth - 1, is_judged))
            }
            4 | 5 => {
                let (one, two) = (self.block(depth - 1, is_judged), self.block(depth - 1, is_judged));
                let other = self.condition(1);
                format!("{{{{ if {condition} }}}}\n{one}{{{{ else if {other} }}}}\n{two}{{{{ end }}}}\n")
            }
            6 => {
                let inner = self.in_map(|template| template.block(depth - 1, is_judged));
                format!("{{{{ with $.Values.m{number} }}}}\n{inner}{{{{ end }}}}\n")
            }
            7 => {
                let inner = self.in_map(|template| template.block(depth - 1, is_judged));
                let leave = ["", "{{ if .on }}{{ continue }}{{ end }}", "{{ if .on }}{{ break }}{{ end }}"];
                let leave = leave[self.chance.below(3)];
                format!("{{{{ range $.Values.l{number} }}}}{leave}\n{inner}{{{{ end }}}}\n")
            }
            8 => {
                let inner = self.in_map(|template| template.block(depth - 1, is_judged));
                format!("{{{{ range $i, $w := $.Values.l{number} }}}}{{{{ $v = $w.on }}}}\n{inner}{{{{ end }}}}\n")
            }
            _ => format!("{{{{ if {condition} }}}}\n{}{{{{ end }}}}\n", self.block(depth - 1, is_judged)),
        }
    }

    fn in_map(&mut self, inner: impl Fn(&mut Self) -> String) -> String {
        let before = std::mem::replace(&mut self.in_map, true);
        let text = inner(self);
        self.in_map = before;
        text
    }

    fn document(&mut self, is_judged: bool) -> String {
        let condition = self.condition(2);
        let kind = if is_judged { ["Job", "ServiceAccount", "ConfigMap"][self.chance.below(3)] } else { "ConfigMap" };
        let hook = match self.chance.below(5) {
            _ if !is_judged => "a: b".to_owned(),
            0 => format!("{{{{ if {condition} }}}}\"helm.sh/hook\": pre-install{{{{ else }}}}a: b{{{{ end }}}}"),
            1 => format!("\"helm.sh/hook\": {{{{ ternary \"test\" \"pre-install\" (not (not {condition})) }}}}"),
            2 => format!(
                "{{{{ $a := dict \"a\" \"b\" }}}}{{{{ if {condition} }}}}{{{{ $_ := set $a \"helm.sh/hook\" \"test\" }}}}\
                 {{{{ end }}}}{{{{ toYaml $a | nindent 4 }}}}"
            ),
            3 => {
                let name = format!("{}.hook{}", self.name, self.helpers.len());
                let inner = condition.replace('$', "$.root.").replace("$.root..", "$.root.");
                // A helper sees no variables of its caller.
                if inner.contains("$.root.v") || inner.contains("$.root.d") || inner.contains("$.root.e") || self.in_map
                {
                    "a: b".to_owned()
                } else {
                    self.helpers += &format!(
                        "{{{{ define \"{name}\" }}}}{{{{ if {inner} }}}}\"helm.sh/hook\": test{{{{ else }}}}a: b{{{{ end }}}}{{{{ end }}}}"
                    );
                    format!("{{{{ include \"{name}\" (dict \"root\" $) }}}}")
                }
            }
            _ => "a: b".to_owned(),
        };
        let text = format!("$.Values.s{}", self.chance.below(8));
        let text =
            ["$.Values.m1.name", "$.Values.t1", "$.Values.b7", &text, "(tpl $.Values.t1 $)"][self.chance.below(5)];
        format!(
            "---\napiVersion: v1\nkind: {kind}\nmetadata:\n  name: x\n  annotations:\n    {hook}\ndata:\n  text: {{{{ {text} | quote }}}}\n"
        )
    }

    fn condition(&mut self, depth: usize) -> String {
        let (a, b) = (self.chance.below(8), self.chance.below(4));
        let name = self.name;
        if depth == 0 {
            return match self.chance.below(5) {
                0 => format!("(eq $.Values.s{a} \"on\")"),
                1 => format!("$.Values.m{b}.on"),
                2 if self.in_map => ".on".to_owned(),
                _ => format!("$.Values.b{a}"),
            };
        }
        let (one, two) = (self.condition(depth - 1), self.condition(depth - 1));
        match self.chance.below(27) {
            0 => format!("(not {one})"),
            1 => format!("(and {one} {two})"),
            2 => format!("(or {one} {two})"),
            3 => format!("(default {one} {two})"),
            4 => format!("(coalesce {one} {two})"),
            5 => format!("(index $.Values \"m{b}\" \"on\")"),
            6 => format!("(get $.Values.m{b} \"on\")"),
            7 => format!("(dig \"sub\" \"flag\" false $.Values.m{b})"),
            8 => format!("(has \"on\" $.Values.ls{b})"),
            9 => format!("(hasKey $.Values.m{b} \"on\")"),
            10 => format!("(ternary {one} {two} (not (not $.Values.b{a})))"),
            11 => format!("(eq (include \"{name}.is\" (dict \"x\" {one})) \"true\")"),
            12 => "(eq (tpl $.Values.t0 $) \"true\")".to_owned(),
            13 => format!("$.Values.global.g{b}"),
            14 => "$v".to_owned(),
            15 => "$d.k".to_owned(),
            16 => format!("(index (list {one} {two}) {})", self.chance.below(2)),
            17 => format!("(fromYaml (printf \"flag: %v\" {one})).flag"),
            18 => format!("(get (merge (dict \"q\" {one}) $.Values.m{b}) \"on\")"),
            19 => format!("(empty $.Values.l{b})"),
            20 => format!("(gt (len $.Values.l{b}) 1)"),
            21 => format!("(contains \"o\" $.Values.s{a})"),
            22 => format!("(index $.Values (printf \"b%d\" {a}))"),
            23 => format!("(index $.Values.m{b} $.Values.s{a})"),
            24 => format!("(get (deepCopy $.Values.m{b}) \"on\")"),
            25 => format!("(first (list {one} {two}))"),
            _ => format!("(and {one} $.Values.b{a})"),
        }
    }
}
