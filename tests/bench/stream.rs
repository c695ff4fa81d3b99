//! `review` of 100,000 objects in one stream: how fast, how much slower than only parsing them, in how much memory.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Deserializer, Value};
use stable_hooks::input::documents;

use crate::{grouped, table};

const OBJECTS: usize = 100_000;

/// Of which a long stream must not need more.
const MOST_MIB: f64 = 64.0;

/// The table of both notations.
pub(crate) fn section() -> String {
    let notations = [("YAML", stream(yaml), parse_yaml as fn(&[u8])), ("JSON", stream(json), parse_json)];
    let rows = notations.map(|(name, text, parse)| row(name, &text, parse));
    format!(
        "## A stream through the command line\n\n`review` of {} objects.\n\n{}\nMeasured once. *of parsing*: its speed relative to reading the \
         same bytes into trees and nothing else, natively. *MiB held*: the most until the last byte was written; the limit is {MOST_MIB} MiB.\n",
        grouped(OBJECTS),
        table(["notation", "MB", "MB/s", "of parsing", "MiB held"], &rows)
    )
}

fn row(name: &str, text: &[u8], parse: fn(&[u8])) -> [String; 5] {
    let megabytes = text.len() as f64 / 1e6;
    let (review, peak) = review(text);
    let begin = Instant::now();
    parse(text);
    let ratio = begin.elapsed().as_secs_f64() / review.as_secs_f64();
    assert!(peak.is_nan() || peak <= MOST_MIB, "review of {megabytes} MB held {peak} MiB, {MOST_MIB} at most");
    let speed = megabytes / review.as_secs_f64();
    [name.to_owned(), format!("{megabytes:.1}"), format!("{speed:.1}"), format!("{ratio:.2}"), format!("{peak:.1}")]
}

fn stream(object: fn(usize) -> String) -> Vec<u8> {
    (0..OBJECTS).flat_map(|number| object(number).into_bytes()).collect()
}

/// What fills a cluster: a migration among Jobs, accounts and larger objects that are none of the policy's business.
fn json(number: usize) -> String {
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

/// The program's time for the whole stream, and the most memory that it held by then.
fn review(text: &[u8]) -> (Duration, f64) {
    let report = Path::new(env!("CARGO_TARGET_TMPDIR")).join("bench-report.json");
    let begin = Instant::now();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(["review", "-o", "json"])
        .stdin(Stdio::piped())
        .stdout(File::create(&report).expect("a file for the report"))
        .spawn()
        .expect("the program starts");
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
