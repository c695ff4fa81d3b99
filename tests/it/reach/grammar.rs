//! What generated templates are made of. A word in `<>` stands for another piece of that sort: `<bool:map>` for one
//! whose dot is a map, `<new:bool>` for a variable that can be read from `<now>` on, `<last>` for the newest of them.

pub(crate) const BOOL_LEAVES: [&str; 11] = [
    "<values>.b<n>",
    "<values>.b<n>",
    "<values>.b<n>",
    "<values>.m<n>.on",
    "<values>.m<n>.sub.flag",
    "<values>.global.b<n>",
    "<values>.global.m<n>.on",
    "<values>.i0",
    "(<values>.im).on",
    "(<top>).xtra",
    "(eq <values>.s<n> \"on\")",
];

pub(crate) const BOOLS: [&str; 70] = [
    "(not <bool>)",
    "(and <bool> <bool>)",
    "(or <bool> <bool>)",
    "(default <bool> <bool>)",
    "(coalesce <bool> <bool>)",
    "(ternary <bool> <bool> (not (not <bool>)))",
    "(any <bool> <bool>)",
    "(all <bool> <bool>)",
    "(<map>).on",
    "(<map>).sub.flag",
    "(index <map> \"on\")",
    "(index <map> \"sub\" \"flag\")",
    "(not (index <map> <text>))",
    "(index <values> \"b<n>\")",
    "(index <values> (printf \"b%d\" <n>))",
    "(get <values> \"b<n>\")",
    "(get <map> \"on\")",
    "(get (<map>).sub \"flag\")",
    "(dig \"sub\" \"flag\" false <map>)",
    "(dig \"b<n>\" false (merge (dict) <values>))",
    "(dig \"none\" <bool> <map>)",
    "(hasKey <map> \"extra\")",
    "(hasKey <values> \"x<n>\")",
    "(empty <values>.x<n>)",
    "(kindIs \"string\" <values>.x<n>)",
    "(<values>.x<n> | default <bool>)",
    "(has \"on\" <texts>)",
    "(has <text> <texts>)",
    "(has <text> (list \"on\" \"x\"))",
    "(eq <text> \"on\")",
    "(eq <text> \"on\" \"x\")",
    "(ne <text> <text>)",
    "(eq (printf \"%v\" <bool>) \"true\")",
    "(<bool> | toString | eq \"true\")",
    "(contains \"o\" <text>)",
    "(hasPrefix <text> \"on\")",
    "(regexMatch \"^o\" <text>)",
    "(empty <maps>)",
    "(gt (len <maps>) 1)",
    "(gt (len <texts>) 2)",
    "(lt (int <values>.n<n>) 2)",
    "(gt (add <values>.n<n> 1) 2)",
    "(eq (until (int <values>.n<n>) | len) 3)",
    "(eq (include \"<name>.is\" (dict \"x\" <bool>)) \"true\")",
    "(eq <call:bool> \"true\")",
    "(eq <call:bool> \"true\")",
    "(eq <call:bool> \"true\")",
    "(eq (include \"lib.on\" <top>) \"true\")",
    "(eq (include \"over.flag\" <top>) \"true\")",
    "(contains \"true\" (include \"<name>.walk\" (dict \"n\" <map> \"b\" <bool>)))",
    "(contains \"true\" (include \"<name>.step\" (dict \"n\" (<map>).sub \"b\" <bool>)))",
    "(eq (tpl <values>.t<n> <top>) \"true\")",
    "(eq (tpl (printf \"{{ %s }}\" \".Values.b<n>\") <top>) \"true\")",
    "(fromYaml (printf \"flag: %v\" <bool>)).flag",
    "(fromYaml (toYaml <map>)).on",
    "(eq (toYaml <map>) (toYaml <map>))",
    "(index (list <bool> <bool>) 1)",
    "(first (list <bool> <bool>))",
    "(last (tuple <bool> <bool>))",
    "(index (dict \"on\" <bool> \"off\" <bool>) \"on\")",
    "(index (dict \"on\" <bool> \"off\" <bool>) <text>)",
    "(hasKey (dict <text> true) \"on\")",
    "(index (values (dict \"q\" <bool>)) 0)",
    "(pluck \"on\" <map> <map> | first)",
    "(has \"extra\" (keys <map>))",
    "(eq (len (values <values>.mm<n>)) 2)",
    "(eq (splitList \",\" <text> | first) \"on\")",
    "(eq (split \",\" <text>)._0 \"on\")",
    "(and <top>.Release.IsInstall <bool>)",
    "(eq (list <bool> <bool> | toJson) \"[true,true]\")",
];

pub(crate) const TEXT_LEAVES: [&str; 6] = [
    "<values>.s<n>",
    "<values>.s<n>",
    "<values>.m<n>.name",
    "<values>.global.s<n>",
    "(tpl <values>.t<n> <top>)",
    "(printf \"%v\" <values>.n<n>)",
];

pub(crate) const TEXTS: [&str; 26] = [
    "(printf \"%s\" <text>)",
    "(printf \"%s-%v\" <text> <bool>)",
    "(print <text> <text>)",
    "(default <text> <text>)",
    "(coalesce <text> <text> \"x\")",
    "(ternary <text> <text> (not (not <bool>)))",
    "(<map>).name",
    "(get <map> \"name\")",
    "(dig \"name\" \"x\" <map>)",
    "(<text> | trim | lower)",
    "(replace \"o\" \"a\" <text>)",
    "(trunc 2 <text>)",
    "(b64enc <text>)",
    "(b64enc <text> | b64dec)",
    "(sha256sum <text> | trunc 4)",
    "(join \",\" <texts>)",
    "(first (append <texts> <text>))",
    "(index (dict \"on\" <text> \"off\" \"x\") \"on\")",
    "(toString <bool>)",
    "(toJson <map>)",
    "(include \"<name>.is\" (dict \"x\" <text>))",
    "<call:text>",
    "<call:text>",
    "(include \"lib.fullname\" <top>)",
    "(tpl (printf \"%s\" <values>.t<n>) <top>)",
    "(pluck \"name\" <map> <map> | last)",
];

pub(crate) const MAP_LEAVES: [&str; 6] = [
    "<values>.m<n>",
    "<values>.m<n>",
    "(index <values> \"m<n>\")",
    "(get <values> \"m<n>\")",
    "<values>.global.m<n>",
    "(index <values>.mm<n> \"one\")",
];

pub(crate) const MAPS: [&str; 29] = [
    "(dict \"on\" <bool> \"name\" <text> \"sub\" (dict \"flag\" <bool>))",
    "(merge (dict) <map> <map>)",
    "(merge (dict \"on\" <bool>) <map>)",
    "(merge (pick <map> \"on\") <map>)",
    "(merge (omit <map> \"on\") <map>)",
    "(mergeOverwrite (dict) <map> <map>)",
    "(mustMergeOverwrite (deepCopy <map>) <map>)",
    "(deepCopy <map>)",
    "(fromYaml (toYaml <map>))",
    "(toJson <map> | fromJson)",
    "(fromYaml (tpl (toYaml <map>) <top>))",
    "(default <map> <map>)",
    "(coalesce <map> <map>)",
    "(ternary <map> <map> (not (not <bool>)))",
    "(or <map> <map>)",
    "(first (append <maps> <map>))",
    "(last (prepend <maps> <map>))",
    "(index (dict \"a\" <map> \"b\" <map>) \"a\")",
    "(index (list <map> <map>) 1)",
    "(index (append <maps> <map>) 0)",
    "(set (deepCopy <map>) \"on\" <bool>)",
    "(index (pluck \"a\" (dict \"a\" <map>)) 0)",
    "(get <values>.mm<n> <text> | default <map>)",
    "(index <values>.mm<n> (printf \"%s\" \"two\"))",
    "(dict \"a\" (dict \"b\" <map>)).a.b",
    "(dig \"a\" (dict) (dict \"a\" <map>))",
    "(<call:map> | fromYaml)",
    "(<call:map> | fromYaml)",
    "(include \"lib.map\" (list <top> <map>) | fromYaml)",
];

pub(crate) const MAPS_LEAVES: [&str; 2] = ["<values>.l<n>", "<values>.l<n>"];

pub(crate) const LISTS: [&str; 11] = [
    "(list <map> <map>)",
    "(list <map>)",
    "(append <maps> <map>)",
    "(prepend <maps> <map>)",
    "(concat <maps> <maps>)",
    "(default (list <map>) <maps>)",
    "(ternary <maps> (list <map>) (not (not <bool>)))",
    "(rest (prepend <maps> <map>))",
    "(reverse <maps>)",
    "(fromYamlArray (toYaml <maps>))",
    "(toJson <maps> | fromJsonArray)",
];

pub(crate) const TEXTS_LEAVES: [&str; 2] = ["<values>.ls<n>", "<values>.ls<n>"];

pub(crate) const WORDS: [&str; 10] = [
    "(list <text> <text>)",
    "(append <texts> <text>)",
    "(concat <texts> <texts>)",
    "(without <texts> <text>)",
    "(keys <map> | sortAlpha)",
    "(keys <values>.mm<n> | sortAlpha)",
    "(splitList \",\" <text>)",
    "(pluck \"name\" <map> <map>)",
    "(uniq <texts>)",
    "(reverse <texts>)",
];

pub(crate) const BLOCKS: [&str; 32] = [
    "{{ if <bool> }}\n<block>{{ end }}\n",
    "{{- if <bool> }}\n<block>{{- end }}\n",
    "{{ if <bool> }}\n<block>{{ else }}\n<block>{{ end }}\n",
    "{{ if <bool> }}\n<block>{{ else if <bool> }}\n<block>{{ else }}\n<block>{{ end }}\n",
    "{{ if <new:bool> := <bool> }}<now>\n<block>{{ end }}\n",
    "{{ if <maps> }}\n<block>{{ end }}\n",
    "{{ with <map> }}\n<block:map>{{ end }}\n",
    "{{ with <new:map> := <map> }}<now>\n<block:map>{{ end }}\n",
    "{{ with <text> }}\n<block:text>{{ else }}\n<block>{{ end }}\n",
    "{{ with <text> }}\n<block:text>{{ else with <map> }}\n<block:map>{{ end }}\n",
    "{{ with <maps> }}{{ range . }}\n<block:map>{{ end }}{{ end }}\n",
    "{{ with <top> }}\n<block:top>{{ end }}\n",
    "{{ range <maps> }}\n<block:map>{{ end }}\n",
    "{{ range <maps> }}{{ if .on }}{{ continue }}{{ end }}\n<block:map>{{ end }}\n",
    "{{ range <maps> }}{{ if <bool:map> }}{{ break }}{{ end }}\n<block:map>{{ end }}\n",
    "{{ range <maps> }}\n<block:map>{{ else }}\n<block>{{ end }}\n",
    "{{ range $i, <new:map> := <maps> }}<now>{{ if eq $i 0 }}\n<block:map>{{ end }}{{ end }}\n",
    "{{ range <new:text>, <new:map> := <values>.mm<n> }}<now>\n<block:map>{{ end }}\n",
    "{{ range <texts> }}\n<block:text>{{ end }}\n",
    "{{ range $k := (list \"m<n>\" \"m<n>\") }}{{ with index <values:text> $k }}\n<block:map>{{ end }}{{ end }}\n",
    "{{ <new:bool> := <bool> }}<now>\n<block>",
    "{{ <new:text> := <text> }}<now>\n<block>",
    "{{ <new:map> := <map> }}<now>\n<block>",
    "{{ <new:bool> := false }}<now>{{ if <bool> }}{{ <last> = <bool> }}{{ end }}\n<block>",
    "{{ <new:text> := \"x\" }}<now>{{ if <bool> }}{{ <last> = \"on\" }}{{ end }}\n<block>",
    "{{ <new:bool> := false }}<now>{{ range <maps> }}{{ <last> = <bool:map> }}{{ end }}\n<block>",
    "{{ <new:map> := deepCopy <map> }}<now>{{ if <bool> }}{{ $_ := set <last> \"on\" <bool> }}{{ end }}\n<block>",
    "{{ <new:map> := deepCopy <map> }}<now>{{ $e := <last> }}{{ $_ := set $e.sub \"flag\" <bool> }}\n<block>",
    "{{ <new:map> := deepCopy <map> }}<now>{{ include \"<name>.put\" (dict \"to\" <last> \"v\" <bool>) }}\n<block>",
    "{{ <call:block> }}\n<block>",
    "{{ <call:block> | nindent 0 }}\n",
    "{{ <template:block> }}\n",
];

/// Blocks that write into values, for all templates of the chart.
pub(crate) const EFFECTS: [&str; 14] = [
    "{{ $_ := set <values> \"b<n>\" <bool> }}\n<block>",
    "{{ if <bool> }}{{ $_ := set <values>.m<n> \"on\" <bool> }}{{ end }}\n<block>",
    "{{ $_ := set (<map>).sub \"flag\" <bool> }}\n<block>",
    "{{ $_ := merge <values>.m<n> <map> }}\n<block>",
    "{{ if <bool> }}{{ $_ := mergeOverwrite <values>.m<n> <map> }}{{ end }}\n<block>",
    "{{ if <bool> }}{{ $_ := unset <values>.m<n> \"on\" }}{{ end }}\n<block>",
    "{{ <new:map> := <map> }}<now>{{ $_ := set <last> \"on\" <bool> }}\n<block>",
    "{{ <new:map> := pick <map> \"sub\" }}{{ $_ := set <last>.sub \"flag\" <bool> }}\n<block>",
    "{{ with <map> }}{{ $_ := set .sub \"flag\" <bool:map> }}{{ end }}\n<block>",
    "{{ range <maps> }}{{ $_ := set . \"on\" <bool:map> }}{{ end }}\n<block>",
    "{{ $_ := set <top> \"xtra\" <bool> }}\n<block>",
    "{{ $_ := set <top>.Values \"m<n>\" <map> }}\n<block>",
    "{{ $_ := set <values>.global \"b<n>\" <bool> }}\n<block>",
    "{{ include \"<name>.put\" (dict \"to\" <values>.m<n> \"v\" <bool>) }}\n<block>",
];

pub(crate) const PLAIN_MAP: &str = "(dict \"on\" true \"name\" \"x\" \"sub\" (dict \"flag\" true))";

/// A Job as a map.
pub(crate) const OBJECT: &str = "(dict \"apiVersion\" \"v1\" \"kind\" \"Job\" \"metadata\" (dict \"name\" \"x\" \"labels\" \
                      (dict \"id\" \"i<id>\") \"annotations\" (dict \"a\" \"b\")))";

pub(crate) const OBJECTS: [&str; 6] = [
    "{{ $o := <object> }}{{ if <bool> }}{{ $_ := set $o.metadata.annotations \"helm.sh/hook\" \"test\" }}{{ end }}\n---\n\
     {{ toYaml $o }}\n",
    "{{ $o := <object> }}{{ if <bool> }}{{ $_ := set $o \"kind\" \"ConfigMap\" }}{{ end }}\n---\n{{ toYaml $o }}\n",
    "\n---\n{{ merge (fromYaml <call:hook>) <object> | toYaml }}\n",
    "\n---\n{{ mergeOverwrite <object> (fromYaml <call:hook>) | toYaml }}\n",
    "{{ range <values>.o<n> }}\n---\n{{ toYaml . }}\n{{ end }}\n",
    "\n---\n{{ tpl <values>.ot<n> <top> }}\n",
];

pub(crate) const KINDS: [&str; 16] = [
    "Job",
    "Job",
    "ServiceAccount",
    "Job",
    "Job",
    "ServiceAccount",
    "Job # one",
    "\"Job\"",
    "ConfigMap",
    "ConfigMap",
    "{{ if <bool> }}Job{{ else }}ConfigMap{{ end }}",
    "{{ ternary \"ServiceAccount\" \"ConfigMap\" (not (not <bool>)) }}",
    "{{ if <bool> }}Cron{{ end }}Job",
    "{{ <values>.k<n> }}",
    "{{ <call:kind> }}",
    "{{ index (dict \"on\" \"Job\" \"off\" \"Secret\") <text> | default \"ConfigMap\" }}",
];

pub(crate) const HOOKS: [&str; 18] = [
    "a: b",
    "a: b",
    "a: b",
    "helm.sh/hook: test",
    "{{ if <bool> }}\"helm.sh/hook\": pre-install{{ else }}a: b{{ end }}",
    "{{ if <bool> }}\"helm.sh/hook\": pre-install{{ else }}a: b{{ end }}",
    "\"helm.sh/hook\": {{ ternary \"test\" \"pre-install\" (not (not <bool>)) }}",
    "{{ $a := dict \"a\" \"b\" }}{{ if <bool> }}{{ $_ := set $a \"helm.sh/hook\" \"test\" }}{{ end }}\
     {{ toYaml $a | nindent 4 }}",
    "{{ with <values>.a<n> }}{{ toYaml . | nindent 4 }}{{ end }}",
    "{{ merge (dict \"a\" \"b\") <values>.a<n> | toYaml | nindent 4 }}",
    "{{ tpl (toYaml <values>.a<n>) <top> | nindent 4 }}",
    "{{ range $k, $v := <values>.a<n> }}\n    {{ $k }}: {{ $v }}\n{{ end }}\n    z: b",
    "{{ if <bool> }}{{ printf \"helm.sh/%s\" \"hook\" }}: test{{ else }}a: b{{ end }}",
    "{{ <call:line> }}",
    "{{ <call:line> | indent 0 }}",
    "{{ $h := \"\" }}{{ if <bool> }}{{ $h = \"helm.sh/hook: test\" }}{{ end }}{{ $h | default \"a: b\" }}",
    "{{ ternary \"helm.sh/hook\" \"a\" (not (not <bool>)) }}: test",
    "{{ if <bool> }}{{ include \"lib.key\" . }}: test{{ else }}a: b{{ end }}",
];

pub(crate) const DOCUMENT: &str = "\n---\napiVersion: v1\nkind: <kind>\nmetadata:\n  name: x\n  labels: {id: \"i<id>\"}\n  \
                                   annotations:\n    <hook>\ndata:\n  text: {{ <text> | quote }}\n  flag: {{ <bool> | \
                                   quote }}\n";

/// The bodies of named templates.
pub(crate) fn bodies(sort: &str) -> &'static [&'static str] {
    match sort {
        "bool" => &[
            "{{ <bool> }}",
            "{{ if <bool> }}true{{ end }}",
            "{{- with <map> }}{{ .on }}{{ end -}}",
            "{{ if <bool> }}{{ <bool> }}{{ else }}{{ <bool> }}{{ end }}",
            "{{ range <maps> }}{{ if <bool:map> }}true{{ end }}{{ end }}",
        ],
        "text" => &["{{ <text> }}", "{{- if <bool> -}}{{ <text> }}{{- else -}}on{{- end -}}", "{{ <text> | trim }}"],
        "map" => &[
            "on: {{ <bool> }}\nname: {{ <text> | quote }}\nsub: {flag: {{ <bool> }}}",
            "{{ toYaml <map> }}",
            "{{ merge (dict) <map> <map> | toYaml }}",
        ],
        "kind" => {
            &["{{ if <bool> }}Job{{ else }}ConfigMap{{ end }}", "{{ ternary \"Job\" \"Pod\" (not (not <bool>)) }}"]
        }
        "line" => &[
            "{{ if <bool> }}helm.sh/hook: test{{ else }}a: b{{ end }}",
            "{{ if <bool> }}a: b{{ else }}\"helm.sh/hook\": test{{ end }}",
        ],
        "hook" => &[
            "{{ if <bool> }}{{ dict \"metadata\" (dict \"annotations\" (dict \"helm.sh/hook\" \"test\")) | toYaml }}{{ else }}\
             {}{{ end }}",
            "{{ if <bool> }}metadata: {annotations: {helm.sh/hook: test}}{{ else }}a: b{{ end }}",
            "{{ if <bool> }}kind: ServiceAccount{{ else }}a: b{{ end }}",
        ],
        _ => &["<block>", "{{ if <bool> }}\n<block>{{ end }}\n", "{{ with <map> }}\n<block:map>{{ end }}\n"],
    }
}
