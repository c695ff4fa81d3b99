//! `stable-hooks timeline`: what runs when, in four formats.

use std::io::Read;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::{files, relative, root};

const FLIP: [&str; 4] =
    ["--install", "tests/timeline/flip/install.yaml", "--upgrade", "tests/timeline/flip/upgrade.yaml"];
const RECORDS: &str = "tests/corpus/admission/helm3/resource-to-hook";

/// The flip that the documentation shows.
pub(crate) fn flip(more: &[&str]) -> Output {
    run(&[&["timeline"], &FLIP[..], &["--name", "orders", "-n", "shop"], more].concat(), b"")
}

/// Two renders of these objects.
pub(crate) fn timeline_of(name: &str, install: &[Value], upgrade: &[Value], more: &[&str]) -> Output {
    let text = |objects: &[Value]| objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    let [install, upgrade] = [("install", text(install)), ("upgrade", text(upgrade))].map(|(operation, text)| {
        let path = temporary(&format!("timeline-{name}-{operation}.yaml"), text.as_bytes());
        path.to_str().unwrap().to_owned()
    });
    run(&[&["timeline", "--install", &install, "--upgrade", &upgrade], more].concat(), b"")
}

pub(crate) fn object(api_version: &str, kind: &str, name: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}})
}

pub(crate) fn job(name: &str, events: Option<&str>, secret: &str) -> Value {
    let mut job = object("batch/v1", "Job", name);
    if let Some(events) = events {
        job["metadata"]["annotations"] = json!({"helm.sh/hook": events});
    }
    job["metadata"]["labels"] = json!({"app": "migrations"});
    job["spec"] = json!({"template": {"spec": {"containers": [{"envFrom": [{"secretRef": {"name": secret}}]}]}}});
    job
}

/// The stored records of that history, the oldest first.
fn records() -> Vec<String> {
    let mut found = files(RECORDS, "json");
    found.retain(|path| relative(path).contains("create-secret-sh.helm.release"));
    found.iter().map(|path| relative(path)).collect()
}

/// The rule, level, object and text of each finding, sorted; each once.
fn findings<'a>(lists: impl Iterator<Item = &'a Value>) -> Vec<String> {
    let all = lists.flat_map(|list| list["findings"].as_array().unwrap());
    let mut texts: Vec<_> = all.filter(|finding| finding["rule"] != "").map(Value::to_string).collect();
    texts.sort();
    texts.dedup();
    texts
}

#[test]
fn timeline_for_people_fits_a_pipe_of_80_columns() {
    let output = flip(&[]);
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    assert!(!stdout(&output).contains('\u{1b}'), "no colour in a pipe");
    insta::assert_snapshot!("timeline-human", stdout(&output));
    for chart in files("tests/corpus/charts", "json") {
        let [install, upgrade] = ["install.yaml", "upgrade.yaml"].map(|name| relative(&chart.with_file_name(name)));
        let output = run(&["timeline", "--install", &install, "--upgrade", &upgrade], b"");
        let drawn = stdout(&output);
        let drawn = drawn.lines().take_while(|line| !line.starts_with("  [1] "));
        assert!(drawn.clone().count() > 3, "{install}");
        drawn.for_each(|line| assert!(line.chars().count() <= 80, "{install}: {line}"));
    }
}

#[test]
fn timeline_is_coloured_where_that_is_wanted() {
    let (plain, coloured) = (stdout(&flip(&[])), stdout(&flip(&["--color", "always"])));
    assert!(coloured.contains("\u{1b}[31m"), "a finding is red");
    assert_eq!(anstream::adapter::strip_str(&coloured).to_string(), plain);
}

#[test]
fn timeline_json_is_the_documented_format() {
    insta::assert_snapshot!("timeline-json", stdout(&flip(&["-o", "json"])));
}

#[test]
fn timeline_a_chart_s_findings_and_exit_code_are_those_of_chart() {
    let mut denied = 0;
    for expected in files("tests/corpus/charts", "json") {
        let [install, upgrade] = ["install.yaml", "upgrade.yaml"].map(|name| relative(&expected.with_file_name(name)));
        let renders = ["--install", &install, "--upgrade", &upgrade, "-o", "json"];
        let [chart, timeline] = ["chart", "timeline"].map(|verb| run(&[&[verb], &renders[..]].concat(), b""));
        assert_eq!(code(&timeline), code(&chart), "{install}");
        denied += code(&chart);
        let [chart, timeline] =
            [chart, timeline].map(|output| serde_json::from_str::<Value>(&stdout(&output)).unwrap());
        let results = chart["results"].as_array().unwrap().iter();
        assert_eq!(findings(timeline["timelines"].as_array().unwrap().iter()), findings(results), "{install}");
        assert_eq!(timeline["summary"], chart["summary"]);
    }
    assert!(denied > 0);
}

#[test]
fn timeline_a_history_is_shown_pair_by_pair_with_the_findings_of_release() {
    let records = records();
    let files: Vec<_> = records.iter().map(String::as_str).collect();
    let [release, timeline] =
        ["release", "timeline"].map(|verb| run(&[&[verb], &files[..], &["-o", "json"]].concat(), b""));
    assert_eq!(code(&timeline), code(&release), "{}", stderr(&timeline));
    let [release, timeline] =
        [release, timeline].map(|output| serde_json::from_str::<Value>(&stdout(&output)).unwrap());
    let pairs = timeline["timelines"].as_array().unwrap();
    let revisions: Vec<_> =
        pairs.iter().map(|pair| (&pair["before"]["revision"], &pair["after"]["revision"])).collect();
    assert_eq!(json!(revisions), json!([[1, 2], [2, 3], [3, 4]]));
    assert_eq!(findings(pairs.iter()), findings(release["results"].as_array().unwrap().iter()));
    let human = run(&[&["timeline"], &files[..]].concat(), b"");
    insta::assert_snapshot!("timeline-history", stdout(&human));
}

#[test]
fn timeline_one_record_stands_alone_and_a_baseline_is_only_compared_with() {
    let records = records();
    let alone = stdout(&run(&["timeline", &records[0]], b""));
    assert!(alone.starts_with("orders in cap3: install (revision 1)\n"), "{alone}");
    let input = std::fs::read(root().join(&records[1])).unwrap();
    let [release, timeline] = ["release", "timeline"].map(|verb| {
        let output = run(&[verb, "-", "--baseline", &records[0], "-o", "json"], &input);
        serde_json::from_str::<Value>(&stdout(&output)).unwrap()
    });
    let [pair] = timeline["timelines"].as_array().unwrap().as_slice() else { panic!("{timeline}") };
    assert_eq!((&pair["before"]["revision"], &pair["after"]["revision"]), (&json!(1), &json!(2)));
    assert_eq!(findings([pair].into_iter()), findings(release["results"].as_array().unwrap().iter()));
}

#[test]
fn timeline_a_hook_s_secret_that_comes_too_late_is_red() {
    let objects = [object("v1", "Secret", "db"), job("migrate", Some("pre-install,pre-upgrade"), "db")];
    let output = timeline_of("late", &objects, &objects, &[]);
    insta::assert_snapshot!("timeline-late", stdout(&output));
    let picture = stdout(&timeline_of("late", &objects, &objects, &["-o", "svg"]));
    assert_eq!(picture.matches("class=\"need trouble\"").count(), 1, "on install");
    assert_eq!(picture.matches("class=\"need\"").count(), 1, "on upgrade it is there");
}

#[test]
fn timeline_a_broken_document_hides_no_other() {
    let [install, upgrade] = ["install", "upgrade"].map(|operation| {
        let text = std::fs::read_to_string(root().join(format!("tests/timeline/flip/{operation}.yaml"))).unwrap();
        let path = temporary(&format!("timeline-broken-{operation}.yaml"), format!("{text}---\na: [\n").as_bytes());
        path.to_str().unwrap().to_owned()
    });
    let output = run(&["timeline", "--install", &install, "--upgrade", &upgrade], b"");
    assert_eq!(code(&output), 2);
    assert!(stdout(&output).contains("→ pre-upgrade hooks"), "{}", stdout(&output));
    assert_eq!(stderr(&output).lines().count(), 2, "{}", stderr(&output));
}

#[test]
fn timeline_nothing_to_show_is_said_in_every_format() {
    for (format, said) in [
        ("human", "nothing runs"),
        ("markdown", "nothing runs"),
        ("svg", "Nothing runs"),
        ("html", "Nothing runs"),
        ("json", "[]"),
    ] {
        let output = timeline_of("empty", &[], &[], &["-o", format]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("there is no object in it"), "{}", stderr(&output));
        assert!(stdout(&output).contains(said), "{}", stdout(&output));
    }
    let nothing_read = run(&["timeline", "no-such-file.json", "-o", "html"], b"");
    assert_eq!(code(&nothing_read), 2);
    assert!(stdout(&nothing_read).contains("There is nothing to show."));
}

#[test]
fn timeline_a_release_without_hooks_is_nothing_wrong() {
    let objects = [object("v1", "ServiceAccount", "a"), object("v1", "Service", "b")];
    let output = timeline_of("no-hooks", &objects, &objects, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("ServiceAccount a\n") && stdout(&output).contains("1 more resource: 1 Service\n"));
}

#[test]
fn timeline_5000_documents_are_folded() {
    let services = (0..5_000).map(|number| object("v1", "Service", &format!("service-{number}")));
    let mut objects: Vec<_> = services.collect();
    objects.push(job("migrate", Some("post-install,post-upgrade"), "elsewhere"));
    let output = timeline_of("many", &objects, &objects, &[]);
    assert!(stdout(&output).contains("5000 resources: 5000 Service\n"), "{}", stdout(&output));
    assert!(stdout(&output).lines().count() < 20, "{}", stdout(&output));
    let page = stdout(&timeline_of("many", &objects, &objects, &["-o", "html"]));
    assert!(page.contains("<li class=\"name\">Service service-4999</li>"), "the table names them all");
}

/// What a name could do to a page, or to a terminal.
pub(crate) fn hostile() -> Vec<Value> {
    let names = [
        "<script>alert(1)</script>",
        "\"'&amp;</text></svg><img src=x onerror=alert(1)>",
        "x\u{202e}gnp.exe",
        "a\u{1b}[31mb\nc",
        "שלום-עולם",
        &"y".repeat(63),
        &"z".repeat(253),
    ];
    names.map(|name| job(name, None, "https://example.com/\"onload=\"x")).to_vec()
}

#[test]
fn timeline_hostile_names_are_only_text() {
    let install = hostile();
    let mut upgrade = hostile();
    for job in &mut upgrade {
        job["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
    }
    for format in ["human", "svg", "html"] {
        let text = stdout(&timeline_of("hostile", &install, &upgrade, &["-o", format]));
        for forbidden in ["\u{202e}", "\u{1b}", "b\nc"] {
            assert!(!text.contains(forbidden), "{format}: {forbidden:?}");
        }
        if format == "human" {
            assert!(text.contains("<script>alert(1)</script>"), "{text}");
            let drawn = text.lines().take_while(|line| !line.starts_with("  [1] "));
            drawn.for_each(|line| assert!(line.chars().count() <= 80, "{line}"));
            continue;
        }
        for forbidden in ["<script", "<img", "</text></svg><", "\"onload"] {
            assert!(!text.contains(forbidden), "{format}: {forbidden}");
        }
        assert!(text.contains("&#60;script&#62;alert(1)&#60;/script&#62;"), "{text}");
    }
}

#[test]
fn timeline_pages_and_pictures_load_nothing() {
    for format in ["svg", "html"] {
        let text = stdout(&flip(&["-o", format])).replace("http://www.w3.org/2000/svg", "");
        for load in ["http:", "https:", "//", "src=", "url(", "@import", "<link", "<script", "href=\"/"] {
            assert!(!text.contains(load), "{format}: {load}");
        }
        assert_eq!(text, stdout(&flip(&["-o", format])).replace("http://www.w3.org/2000/svg", ""), "the same bytes");
    }
    assert!(stdout(&flip(&["-o", "html"])).contains("default-src 'none'"));
}

#[test]
fn timeline_options_of_a_chart_do_not_go_with_records() {
    let output = run(&["timeline", &records()[0], "--set", "a=b"], b"");
    assert_eq!((code(&output), stdout(&output).as_str()), (2, ""));
    assert!(stderr(&output).contains("these options go with a chart"), "{}", stderr(&output));
}

#[test]
fn timeline_a_reader_that_has_seen_enough_is_no_failure() {
    let arguments = [&["timeline"], &FLIP[..], &["-o", "html"]].concat();
    let mut child = Command::new(env!("CARGO_BIN_EXE_stable-hooks"))
        .args(arguments)
        .current_dir(root())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((child.wait().unwrap().code(), said.as_str()), (Some(1), ""));
}

#[test]
fn timeline_a_chart_has_no_baseline_of_records_and_a_folder_is_a_chart() {
    let refused = run(&["timeline", "tests/charts/flip", "--baseline", "nowhere.json"], b"");
    assert_eq!(code(&refused), 2);
    assert!(stderr(&refused).contains("--baseline goes with records, and a chart is given"), "{}", stderr(&refused));
    // In the project's folder, which has a folder of that name.
    let folder = run(&["timeline", "tests", "-n", "shop"], b"");
    assert!(stderr(&folder).starts_with("note: `tests` is a folder here and taken for a chart"), "{}", stderr(&folder));
}
