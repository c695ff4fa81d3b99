//! `-o markdown`: comments whose first line says the outcome, that fit, and that hold nothing which a chart put there.

use std::process::Output;

use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::{Value, json};

use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::{files, relative};
use crate::timeline::{flip, hostile, job, object, timeline_of};

/// "Body is too long (maximum is 65536 characters)", says GitHub.
const LONGEST: usize = 65_536;

const RULES: &str = "https://github.com/stable-hooks/stable-hooks/blob/main/docs/rules/";

/// What this program writes itself, and no name may.
const HTML: [&str; 4] = ["<details>", "</details>", "<summary>", "</summary>"];

fn markdown(arguments: &[&str]) -> Output {
    run(&[arguments, &["-o", "markdown"]].concat(), b"")
}

fn stream(name: &str, objects: &[Value]) -> String {
    let text = objects.iter().map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    temporary(name, text.as_bytes()).to_str().unwrap().to_owned()
}

/// A hook that says it is a resource too: it is denied.
fn denied(name: &str) -> Value {
    let mut job = job(name, Some("test-failure"), "db");
    job["metadata"]["annotations"]["meta.helm.sh/release-name"] = json!("r");
    job
}

/// What a Markdown reader with every extension takes it for: the text, and none but our own links and HTML.
fn read(markdown: &str) -> String {
    let mut text = String::new();
    let (mut is_link, mut is_code) = (false, false);
    for event in Parser::new_ext(markdown, Options::all() - Options::ENABLE_SMART_PUNCTUATION) {
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => {
                assert!(dest_url.starts_with(RULES), "{dest_url}");
                is_link = true;
            }
            Event::Start(Tag::Image { .. } | Tag::BlockQuote(_) | Tag::FootnoteDefinition(_) | Tag::CodeBlock(_)) => {
                panic!("{event:?} in {markdown}")
            }
            Event::End(end) => is_link &= end != pulldown_cmark::TagEnd::Link,
            Event::Html(html) | Event::InlineHtml(html) => {
                let rest = HTML.iter().fold(html.replace("<br>", ""), |html, tag| html.replace(tag, ""));
                let rest = rest.replace(" objects", "");
                assert!(rest.trim().chars().all(|digit| digit.is_ascii_digit()), "{html}");
            }
            Event::Code(code) => {
                is_code = true;
                text.push_str(&code);
            }
            Event::Text(part) => {
                for active in ["@", "#", "://", "www.", "$", "<", "|", "`", "~"] {
                    assert!(!part.contains(active), "{active} in {part:?} of {markdown}");
                }
                text.push_str(&part);
            }
            Event::Start(_) | Event::SoftBreak | Event::Rule => text.push(' '),
            event => panic!("{event:?} in {markdown}"),
        }
    }
    assert!(!is_link && (is_code || !markdown.contains('`')));
    text
}

#[test]
fn markdown_of_a_denial_says_what_why_and_what_to_change() {
    let examples = files("examples", "json").iter().map(|path| relative(path)).collect::<Vec<_>>();
    let examples: Vec<_> = examples.iter().map(String::as_str).collect();
    let records: Vec<_> = files("tests/corpus/admission/helm3/resource-to-hook", "json")
        .iter()
        .map(|path| relative(path))
        .filter(|path| path.contains("create-secret-sh.helm.release"))
        .collect();
    let records: Vec<_> = records.iter().map(String::as_str).collect();
    let renders = ["--install", "tests/timeline/flip/install.yaml", "--upgrade", "tests/timeline/flip/upgrade.yaml"];
    let review = markdown(&[&["review", "--settings", "examples/settings.yaml"], &examples[..]].concat());
    let chart = markdown(&[&["chart"], &renders[..]].concat());
    let release = markdown(&[&["release"], &records[..]].concat());
    let timeline = flip(&["-o", "markdown"]);
    for (verb, output) in [("review", review), ("chart", chart), ("release", release), ("timeline", timeline)] {
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        let text = stdout(&output);
        assert!(text.starts_with("### stable-hooks: denied\n\n"), "{text}");
        read(&text);
        insta::assert_snapshot!(format!("markdown-{verb}"), text);
    }
}

#[test]
fn markdown_of_a_clean_run_is_one_line() {
    let objects = [object("v1", "ServiceAccount", "a"), object("v1", "Service", "b")];
    let clean = stream("markdown-clean.yaml", &objects);
    let said = |arguments: &[&str]| {
        let output = markdown(arguments);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        stdout(&output)
    };
    assert_eq!(said(&["review", &clean]), "**stable-hooks**: 2 objects are in order.\n");
    assert_eq!(said(&["chart", "--install", &clean, "--upgrade", &clean]), "**stable-hooks**: 1 chart is in order.\n");
    let timeline = stdout(&timeline_of("markdown-clean", &objects, &objects, &["-o", "markdown"]));
    insta::assert_snapshot!("markdown-timeline-clean", timeline);
}

#[test]
fn markdown_tells_in_its_first_line_that_something_could_not_be_judged() {
    let good = stream("markdown-good.yaml", &[object("v1", "Service", "b")]);
    for (arguments, head) in [
        (vec!["review", &good, "no-such-file.yaml"], "### stable-hooks: not everything could be judged\n"),
        (vec!["chart", "no-such-folder/"], "### stable-hooks: not everything could be judged\n"),
        (vec!["release", "no-such-file.json"], "### stable-hooks: not everything could be judged\n"),
        (vec!["timeline", "no-such-file.json"], "### stable-hooks: not everything could be judged\n"),
    ] {
        let output = markdown(&arguments);
        assert_eq!(code(&output), 2);
        assert!(stdout(&output).starts_with(head), "{}", stdout(&output));
    }
    let bad = stream("markdown-bad.yaml", &[denied("bad")]);
    let output = markdown(&["review", &bad, "no-such-file.yaml"]);
    assert!(stdout(&output).starts_with("### stable-hooks: denied, and not everything could be judged\n"));
}

#[test]
fn markdown_of_hostile_names_is_only_text() {
    let names = [
        "](https://evil.example)",
        "[x](https://evil.example)",
        "![x](https://evil.example/p.png)",
        "@octocat",
        "#1",
        "org/repo#1",
        "GH-12",
        "0123456789abcdef0123456789abcdef01234567",
        "https://evil.example",
        "www.evil.example",
        "`a`",
        "a|b",
        "</details>",
        "<br>",
        "<!-- x",
        "a\n\n# heading",
        "- [x] task",
        "$x$",
        "&lt;",
        "\\",
        "~~a~~",
        "**a**",
        "/close",
        "[^1]",
    ];
    let mut install = hostile();
    install.extend(names.map(|name| job(name, None, "db")));
    let mut upgrade = install.clone();
    for job in &mut upgrade {
        job["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
    }
    let file = stream(
        "a`b @octocat #1 <b> [x](y) _.yaml",
        &install
            .iter()
            .map(|job| {
                let mut denied = denied("x");
                denied["metadata"]["name"] = job["metadata"]["name"].clone();
                denied
            })
            .collect::<Vec<_>>(),
    );
    let before = stream("markdown-hostile-install.yaml", &install);
    let after = stream("markdown-hostile-upgrade.yaml", &upgrade);
    for arguments in [
        vec!["review", file.as_str()],
        vec!["chart", "--install", &before, "--upgrade", &after, "--name", "</summary>@octocat"],
        vec!["timeline", "--install", &before, "--upgrade", &after, "-n", "a|b @octocat"],
    ] {
        let output = markdown(&arguments);
        assert_eq!(code(&output), 1, "{}", stderr(&output));
        let written = stdout(&output);
        for forbidden in ["\u{202e}", "\u{1b}", "\n# heading", "\n/close"] {
            assert!(!written.contains(forbidden), "{forbidden:?} in {written}");
        }
        let text = read(&written);
        for name in ["</details>", "https://evil.example", "@octocat", "GH-12", "~~a~~", "<script>alert(1)</script>"] {
            assert!(text.contains(name), "{name} is not in {text}");
        }
    }
}

#[test]
fn markdown_fits_a_comment_with_the_denials_first_and_counts_the_rest() {
    let odd = |number: usize| json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": format!("odd-{number}"), "annotations": []}});
    let warned = (0..300).map(odd);
    let objects: Vec<_> = warned.chain((0..600).map(|number| denied(&format!("d-{number}")))).collect();
    let mut objects = objects;
    objects.push(object("v1", "ConfigMap", "c"));
    let output = markdown(&["review", &stream("markdown-many.yaml", &objects)]);
    let text = stdout(&output);
    assert!(text.len() <= LONGEST && text.len() > LONGEST * 9 / 10, "{}", text.len());
    let shown = text.matches("\n#### deny: ").count();
    assert!(shown > 40 && !text.contains("\n#### allow: "), "{shown}");
    let end = format!("\n\n1 object is in order.\n\nand {} more results\n", 900 - shown);
    assert!(text.ends_with(&end), "{end:?} is not the end of {}", text.lines().rev().take(5).collect::<String>());
    assert!(
        text.starts_with("### stable-hooks: denied\n\n901 objects: 600 denied, "),
        "{}",
        text.lines().nth(2).unwrap()
    );
    read(&text);
}

#[test]
fn markdown_of_one_result_that_is_too_long_counts_its_findings() {
    let jobs = |hook: Option<&str>| -> Vec<_> {
        // Each job has a cause of its own: the message names its object.
        (0..400).map(|number| job(&format!("job-{number}"), hook, &format!("secret-{number}"))).collect()
    };
    let mut objects = jobs(Some("pre-install,pre-upgrade"));
    objects.extend((0..400).map(|number| object("v1", "Secret", &format!("secret-{number}"))));
    let file = stream("markdown-long.yaml", &objects);
    let output = markdown(&["chart", "--install", &file, "--upgrade", &file]);
    let text = stdout(&output);
    assert!(text.len() <= LONGEST && text.len() > LONGEST * 9 / 10, "{}", text.len());
    let more = text.lines().last().unwrap();
    assert!(more.starts_with("and ") && more.ends_with(" more findings"), "{more}");
}

#[test]
fn markdown_folds_the_objects_of_a_cause() {
    let jobs = |count: usize, hook: Option<&str>| -> Vec<_> {
        (0..count).map(|number| job(&format!("job-{number:03}"), hook, "db")).collect()
    };
    let chart = |count: usize| {
        let before = stream(&format!("markdown-{count}-install.yaml"), &jobs(count, None));
        let after = stream(&format!("markdown-{count}-upgrade.yaml"), &jobs(count, Some("pre-upgrade")));
        stdout(&markdown(&["chart", "--install", &before, "--upgrade", &after, "-n", "shop"]))
    };
    let three = chart(3);
    assert!(three.contains("Job `shop/job-000`, Job `shop/job-001`, Job `shop/job-002`: each is"), "{three}");
    assert!(!three.contains("<details>"), "{three}");
    let many = chart(250);
    assert!(many.contains("Job `shop/job-002` and 247 more: each is"), "{many}");
    assert!(many.contains("\n\n  <details><summary>250 objects</summary>\n\n  - `Job shop/job-000`\n"), "{many}");
    assert!(many.contains("\n  - `Job shop/job-199`\n  - and 50 more\n\n  </details>\n"), "{many}");
    assert!(read(&many).contains("Job shop/job-199"));
}

#[test]
fn markdown_tells_no_value_of_a_patch() {
    let output = markdown(&["review", "--settings", "examples/settings.yaml", "examples/2-create-hook-job.json"]);
    let patch = "- the patch replaces `/metadata/annotations/helm.sh~1hook`, adds `/metadata/annotations/helm.sh~1hook-weight`\n";
    assert!(stdout(&output).ends_with(patch), "{}", stdout(&output));
}
