//! `review` of 100,000 objects in one stream: how fast, how much slower than only parsing them, in how much memory.

use std::env::current_exe;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{Read, Write, stdin};
use std::num::NonZero;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize as _;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Deserializer, Value, json};
use stable_hooks::input::documents;

use crate::{grouped, table};

const OBJECTS: usize = 100_000;

const RUNS: usize = 5;

type Parser = fn(&[u8]);

/// The forms, each with what only parses it.
const PARSERS: [(&str, Parser); 4] = [
    ("YAML", parse_yaml),
    ("JSON", parse_json),
    ("a List, as `kubectl get -o json` prints it", parse_list),
    ("a List of Jobs that are all normalized", parse_list),
];

/// Of which a long stream must not need more.
const MOST_MIB: f64 = 64.0;

/// The table of all forms.
pub(crate) fn section() -> String {
    let texts = [stream(yaml), stream(object), list(object), list(|number| object(number * 10))];
    let rows: Vec<_> = PARSERS.iter().zip(texts).map(|((form, _), text)| row(form, &text)).collect();
    format!(
        "## A stream through the command line\n\nGoals: 1.0 of parsing for YAML, 0.6 for JSON. `review` of {} objects.\n\n{}\nThe median of {RUNS}. \
         *of parsing*: its speed relative to that of a process that only reads the same bytes from the same pipe into trees, on one core; \
         review takes {} of them. \
         *MiB held*: the most until the last byte was written; the limit is {MOST_MIB} MiB.\n",
        grouped(OBJECTS),
        table(["form", "MB", "MB/s", "of parsing", "with `--jobs 1`", "MiB held"], &rows),
        thread::available_parallelism().map_or(1, NonZero::get),
    )
}

/// What a process does that only parses: the program has a start, a pipe and fresh memory to pay for too.
pub(crate) fn parse(form: &str) {
    let mut text = Vec::new();
    stdin().read_to_end(&mut text).expect("standard input can be read");
    let (_, parse) = PARSERS.iter().find(|(name, _)| *name == form).expect("a form");
    parse(&text);
}

fn row(form: &str, text: &[u8]) -> [String; 6] {
    let megabytes = text.len() as f64 / 1e6;
    let (mut speeds, mut ratios, mut alone, mut peak) = (Vec::new(), Vec::new(), Vec::new(), 0.0_f64);
    for _ in 0..RUNS {
        let mut parser = Command::new(current_exe().expect("this program"));
        let (parsing, _) = fed(parser.args([crate::PARSE, form]), text);
        let parsing = parsing.as_secs_f64();
        let (judging, held) = review(text, &[]);
        let (judging_alone, _) = review(text, &["--jobs", "1"]);
        speeds.push(megabytes / judging.as_secs_f64());
        ratios.push(parsing / judging.as_secs_f64());
        alone.push(parsing / judging_alone.as_secs_f64());
        peak = peak.max(held);
    }
    assert!(peak.is_nan() || peak <= MOST_MIB, "review of {megabytes} MB held {peak} MiB, {MOST_MIB} at most");
    let [speed, ratio, alone] = [speeds, ratios, alone].map(median);
    let speed = format!("{speed:.1}");
    [
        form.to_owned(),
        format!("{megabytes:.1}"),
        speed,
        format!("{ratio:.2}"),
        format!("{alone:.2}"),
        format!("{peak:.1}"),
    ]
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().unwrap_or(f64::NAN)
}

fn stream(object: fn(usize) -> String) -> Vec<u8> {
    (0..OBJECTS).flat_map(|number| object(number).into_bytes()).collect()
}

fn list(object: fn(usize) -> String) -> Vec<u8> {
    let items: Vec<Value> = (0..OBJECTS).map(|number| serde_json::from_str(&object(number)).expect("JSON")).collect();
    let list = json!({"apiVersion": "v1", "items": items, "kind": "List", "metadata": {"resourceVersion": ""}});
    let mut text = Vec::new();
    let mut serializer = Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(b"    "));
    list.serialize(&mut serializer).expect("it is written to memory");
    text
}

/// What fills a cluster: a migration among Jobs, accounts and larger objects that are none of the policy's business.
fn object(number: usize) -> String {
    let (api_version, kind, labels, annotations) = match number % 10 {
        0 => ("batch/v1", "Job", r#"{"app":"migrate"}"#, r#"{"helm.sh/hook":"pre-upgrade"}"#),
        1 | 2 => ("v1", "ServiceAccount", r#"{"app":"web"}"#, "{}"),
        _ => ("apps/v1", "Deployment", r#"{"app":"web"}"#, r#"{"note":"nothing of interest"}"#),
    };
    format!(
        "{{\"apiVersion\":\"{api_version}\",\"kind\":\"{kind}\",\"metadata\":{{\"name\":\"object-{number}\",\"namespace\":\"shop\",\
         \"labels\":{labels},\"annotations\":{annotations}}},\"spec\":{{\"replicas\":3,\"template\":{{\"spec\":{{\"containers\":\
         [{{\"name\":\"main\",\"image\":\"registry.example/app:{number}\",\"args\":[\"--port\",\"8080\",\"--level\",\"info\"],\
         \"env\":[{{\"name\":\"A\",\"value\":\"1\"}},{{\"name\":\"B\",\"value\":\"2\"}}]}}]}}}}}}}}\n"
    )
}

fn yaml(number: usize) -> String {
    let (api_version, kind, labels, annotations) = match number % 10 {
        0 => ("batch/v1", "Job", "{app: migrate}", "{helm.sh/hook: pre-upgrade}"),
        1 | 2 => ("v1", "ServiceAccount", "{app: web}", "{}"),
        _ => ("apps/v1", "Deployment", "{app: web}", "{note: nothing of interest}"),
    };
    format!(
        "---\napiVersion: {api_version}\nkind: {kind}\nmetadata:\n  name: object-{number}\n  namespace: shop\n  \
         labels: {labels}\n  annotations: {annotations}\nspec:\n  replicas: 3\n  template:\n    spec:\n      containers:\n      \
         - name: main\n        image: registry.example/app:{number}\n        args: [--port, \"8080\", --level, info]\n        \
         env:\n        - {{name: A, value: \"1\"}}\n        - {{name: B, value: \"2\"}}\n"
    )
}

fn parse_yaml(text: &[u8]) {
    assert_eq!(documents(text).filter(|document| black_box(document).is_ok()).count(), OBJECTS);
}

fn parse_json(text: &[u8]) {
    let values = Deserializer::from_slice(text).into_iter::<Value>();
    assert_eq!(values.filter(|value| black_box(value).is_ok()).count(), OBJECTS);
}

fn parse_list(text: &[u8]) {
    assert!(black_box(serde_json::from_slice::<Value>(text)).is_ok());
}

fn review(text: &[u8], arguments: &[&str]) -> (Duration, f64) {
    let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-report.json");
    let report = File::create(&report).expect("a file for the report");
    fed(
        Command::new(env!("CARGO_BIN_EXE_stable-hooks")).args(["review", "-o", "json"]).args(arguments).stdout(report),
        text,
    )
}

/// A program's time for the whole stream, and the most memory that it held when it had read it.
fn fed(program: &mut Command, text: &[u8]) -> (Duration, f64) {
    let begin = Instant::now();
    let mut child = program.stdin(Stdio::piped()).spawn().expect("the program starts");
    let mut input = child.stdin.take().expect("its input is a pipe");
    input.write_all(text).expect("it reads");
    let peak = peak_mib(child.id());
    drop(input);
    assert!(child.wait().expect("it ends").success(), "nothing is denied");
    (begin.elapsed(), peak)
}

/// As Linux counts it; where there is no such count, none.
pub(crate) fn peak_mib(process: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok());
    peak.map_or(f64::NAN, |kib: f64| kib / 1024.0)
}
