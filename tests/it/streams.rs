//! Streams that are long, broken in the middle, or read by nobody.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::cli::{code, run, stderr, stdout};

/// Far below what the streams hold; a run that kept its results or its input would not fit.
const MOST_KIB: u64 = 64 * 1024;

/// The n-th of many objects, as YAML or as one line of JSON: most of them large and of no interest, as in a cluster.
fn object(number: usize, is_json: bool) -> String {
    let filler = "x".repeat(if number.is_multiple_of(10) { 40_000 } else { 100 });
    let hook = if number.is_multiple_of(7) { "pre-upgrade" } else { "pre-install,pre-upgrade" };
    if is_json {
        format!(
            "{{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{{\"name\":\"j{number}\",\"labels\":{{\"app\":\"migrate\"}},\
             \"annotations\":{{\"helm.sh/hook\":\"{hook}\",\"filler\":\"{filler}\"}}}}}}\n"
        )
    } else {
        format!(
            "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: j{number}\n  labels: {{app: migrate}}\n  \
             annotations:\n    helm.sh/hook: {hook}\n    filler: {filler}\n"
        )
    }
}

fn start(arguments: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_stable-hooks"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

/// The most memory that a process has held so far.
fn peak_kib(child: &Child) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// How a stream is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Yaml,
    Json,
    /// As `kubectl` prints it: the kind comes behind the items.
    List,
    /// The same in one line, as the API server sends it.
    CompactList,
}

impl Form {
    /// What stands before all objects, between two of them, and behind all.
    fn around(self) -> [&'static str; 3] {
        match self {
            Self::Yaml | Self::Json => ["", "", ""],
            Self::List => [
                "{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n",
                "        ,\n",
                "    ],\n    \"kind\": \"List\"\n}\n",
            ],
            Self::CompactList => ["{\"apiVersion\":\"v1\",\"items\":[", ",", "],\"kind\":\"List\"}"],
        }
    }

    fn object(self, number: usize) -> String {
        let text = object(number, self != Self::Yaml);
        match self {
            Self::Yaml | Self::Json => text,
            Self::List => format!("        {}", text.replace("\"metadata\"", "\n            \"metadata\"")),
            Self::CompactList => text.trim_end().to_owned(),
        }
    }
}

/// Judges `count` objects; what it writes is read by another thread, and its memory before its input ends.
fn judged(format: &str, form: Form, count: usize) -> (String, u64, usize) {
    let mut child = start(&["review", "-o", format]);
    let (mut input, mut output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        output.read_to_string(&mut text).unwrap();
        text
    });
    let [before, between, behind] = form.around();
    input.write_all(before.as_bytes()).unwrap();
    let mut bytes = 0;
    for number in 0..count {
        let text = format!("{}{}", if number == 0 { "" } else { between }, form.object(number));
        bytes += text.len();
        input.write_all(text.as_bytes()).unwrap();
    }
    let peak = peak_kib(&child);
    input.write_all(behind.as_bytes()).unwrap();
    drop(input);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    (reader.join().unwrap(), peak, bytes)
}

#[test]
#[cfg(target_os = "linux")]
fn streams_of_50_megabytes_need_no_memory_of_their_own() {
    let forms = [("json", Form::Json), ("json", Form::List), ("json", Form::CompactList), ("human", Form::Yaml)];
    for (format, form) in forms {
        let (text, peak, bytes) = judged(format, form, 12_500);
        assert!(bytes > 50_000_000, "{bytes}");
        assert!(peak < MOST_KIB, "{format}: {peak} KiB for {bytes} bytes");
        if format == "json" {
            let report: Value = serde_json::from_str(&text).unwrap();
            let results = report["results"].as_array().unwrap();
            assert_eq!(results.len(), 12_500);
            let in_order = |(at, result): (usize, &Value)| result["object"]["name"] == format!("j{at}");
            assert!(results.iter().enumerate().all(in_order));
        } else {
            assert!(text.ends_with("12500 objects: 0 denied, 12500 normalized, 0 with warnings\n"));
        }
    }
}

#[test]
fn streams_are_told_alike_however_many_objects_are_judged_at_the_same_time() {
    let mut stream: String =
        (0..200).map(|number| format!("---\n{}", object(number, true)) + &object(number, false)).collect();
    let list: Vec<_> = (400..900).map(|number| object(number, true)).collect();
    let _ = write!(
        stream,
        "---\nkind: [\n---\n{{\"apiVersion\": \"v1\", \"items\": [{}], \"kind\": \"List\"}}",
        list.join(",")
    );
    let all = |jobs: &str| {
        let output = run(&["review", "-o", "json", "--jobs", jobs], stream.as_bytes());
        (code(&output), stdout(&output), stderr(&output))
    };
    let one = all("1");
    assert_eq!(one.0, 2, "{}", one.2);
    assert!(one.1.contains("\"source\": \"-#901\""), "{}", one.2);
    assert_eq!(all("2"), one);
    assert_eq!(all("9"), one);
}

#[test]
fn streams_with_broken_documents_in_the_middle_are_judged_around_them() {
    for is_json in [true, false] {
        let broken = if is_json { "{\"hunter2\": \n" } else { "---\nhunter2: [\n" };
        let mut stream = String::new();
        for number in 0..300 {
            let _ = write!(stream, "{}", if number % 100 == 50 { broken.to_owned() } else { object(number, is_json) });
        }
        let output = run(&["review", "-o", "json"], stream.as_bytes());
        assert_eq!(code(&output), 2);
        let report: Value = serde_json::from_str(&stdout(&output)).unwrap();
        assert_eq!(report["results"].as_array().unwrap().len(), 297);
        assert_eq!(stderr(&output).lines().count(), 3, "{}", stderr(&output));
        assert!(!stderr(&output).contains("hunter2"), "{}", stderr(&output));
    }
}

#[test]
fn streams_that_nobody_reads_are_judged_to_their_end_and_quietly() {
    for format in ["human", "json", "sarif", "github", "policyreport"] {
        let mut child = start(&["review", "-o", format]);
        drop(child.stdout.take());
        let mut input = child.stdin.take().unwrap();
        let is_read = (0..2_000).all(|number| input.write_all(object(number, true).as_bytes()).is_ok());
        assert!(is_read, "{format} stops, and could not tell how all of it ends");
        drop(input);
        let output = child.wait_with_output().unwrap();
        assert_eq!((code(&output), stderr(&output)), (0, String::new()), "{format}");
    }
}

#[test]
fn streams_show_what_is_judged_before_they_end() {
    let mut child = start(&["review"]);
    let mut input = child.stdin.take().unwrap();
    // Fewer than fit into the pipe that nobody reads yet.
    for number in 0..40 {
        input.write_all(object(number, true).as_bytes()).unwrap();
    }
    let mut first = [0; 9];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    assert_eq!(&first, b"normalize");
    drop(input);
    child.wait().unwrap();
}

/// What the program writes to a terminal; `None` where no terminal can be made.
fn on_terminal(commands: &str) -> Option<String> {
    let mut script = Command::new("script");
    script
        .args(["-qec", commands, "/dev/null"])
        .env("PROGRAM", env!("CARGO_BIN_EXE_stable-hooks"))
        .env("TERM", "xterm");
    let Ok(output) = script.stdin(Stdio::null()).output() else {
        eprintln!("SKIPPED on a terminal: there is no `script`");
        return None;
    };
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn streams_show_a_bar_on_a_terminal_when_they_take_longer_than_a_second() {
    let job = "printf '{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":{\"name\":\"a\"}}\\n'";
    let Some(slow) = on_terminal(&format!("{{ {job}; sleep 1.2; {job}; {job}; }} | \"$PROGRAM\" review -q")) else {
        return;
    };
    assert!(slow.contains("B/s"), "{slow:?}");
    // It takes itself away when it is done.
    assert!(slow.trim_end_matches(['\r', '\n']).ends_with("\u{1b}[2K"), "{slow:?}");
    let quick = on_terminal(&format!("{{ {job}; {job}; }} | \"$PROGRAM\" review -q")).unwrap();
    assert_eq!(quick, "");
    let shown = on_terminal(&format!("{{ {job}; sleep 1.2; {job}; {job}; }} | \"$PROGRAM\" review --all")).unwrap();
    assert!(
        shown.contains("Secret a") && !shown.contains("B/s"),
        "results on the same terminal are progress: {shown:?}"
    );
}
