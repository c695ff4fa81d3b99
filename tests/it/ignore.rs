//! `stable-hooks/ignore`, as the command line counts it: tests/cases has what it switches off.

use serde_json::{Value, json};

use crate::cli::{code, run, stderr, stdout, temporary};
use crate::engines::{ask_with, cluster};
use crate::releases::render::{Revision, creation};

/// Off its normal form in two fields, of which it wants one to stay.
const HOOK: &str = "apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  namespace: shop\n  labels: {app: migrate}\n  annotations:\n    \
                    helm.sh/hook: \"pre-upgrade, pre-install\"\n    helm.sh/hook-weight: \"1\"\n    helm.sh/hook-delete-policy: \
                    hook-failed,before-hook-creation\n    stable-hooks/ignore: WORDS\n";

const NOTE: &str = "note: 1 finding is ignored, as stable-hooks/ignore says on the objects\n";

fn review(words: &str, more: &[&str]) -> std::process::Output {
    run(&[&["review"], more].concat(), HOOK.replace("WORDS", words).as_bytes())
}

#[test]
fn ignored_findings_are_counted_in_every_output() {
    let human = review("hook-delete-policy", &[]);
    assert_eq!((code(&human), stderr(&human).as_str()), (0, NOTE));
    let sum = "1 object: 0 denied, 1 normalized, 0 with warnings, 1 finding ignored\n";
    assert!(stdout(&human).ends_with(sum) && !stdout(&human).contains("hook-delete-policy"), "{}", stdout(&human));
    let report: Value = serde_json::from_slice(&review("hook-delete-policy", &["-o", "json"]).stdout).unwrap();
    assert_eq!(report["summary"]["ignored"], json!(1));
    let markdown = stdout(&review("\"hook-delete-policy,hook-events\"", &["-o", "markdown"]));
    assert_eq!(markdown, "**stable-hooks**: 1 object is in order. 2 findings are ignored.\n");
    let report: Value = serde_json::from_slice(&review("hook-delete-policy", &["-o", "policyreport"]).stdout).unwrap();
    assert_eq!((&report["summary"]["skip"], &report["summary"]["pass"]), (&json!(1), &json!(0)));
    let skipped = report["results"].as_array().unwrap().iter().find(|result| result["result"] == "skip").unwrap();
    assert_eq!(skipped["rule"], "hook-delete-policy");
    // Code scanning would show what a log only calls suppressed.
    let log = stdout(&review("\"hook-delete-policy,hook-events\"", &["-o", "sarif"]));
    assert_eq!(serde_json::from_str::<Value>(&log).unwrap()["runs"][0]["results"], json!([]));
    let quiet = review("hook-delete-policy", &["-q"]);
    assert_eq!(stdout(&quiet) + &stderr(&quiet), "");
}

#[test]
fn ignored_words_that_name_no_rule_are_warned_about() {
    let output = review("\"hook-delete-polizy, hook-events\\u202e\"", &["--fail-on", "warn", "-o", "json"]);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let message = &report["results"][0]["findings"][2]["message"];
    let words = "\"hook-delete-polizy\", \"hook-events\\u{202e}\"";
    let told = "Job shop/migrate: stable-hooks/ignore names what is no rule, or none that an object can switch off: ";
    assert_eq!((message.as_str().unwrap(), code(&output)), (format!("{told}{words}").as_str(), 1));
    assert_eq!(report["summary"]["ignored"], json!(0));
}

#[test]
fn ignored_in_a_chart_and_in_records_is_counted_once_for_install_and_upgrade() {
    let hook = HOOK.replace("WORDS", "hook-log-retention");
    let chart = temporary("ignore-chart.yaml", hook.as_bytes());
    let chart = chart.to_str().unwrap();
    let record = Revision::new("orders", "shop", 1, "deployed", &hook).secret();
    let record = temporary("ignore-record.json", record.to_string().as_bytes());
    let argocd = hook.replace("pre-upgrade, pre-install", "post-install,pre-upgrade");
    let argocd = argocd.replace("hook-log-retention", "argocd-runs-twice").replace("hook-failed,", "");
    let argocd = temporary("ignore-argocd.yaml", argocd.as_bytes());
    let argocd = argocd.to_str().unwrap();
    for arguments in [
        &["chart", "--install", chart, "--upgrade", chart][..],
        &["release", record.to_str().unwrap()],
        &["timeline", "--install", chart, "--upgrade", chart],
        &["chart", "--argocd", "--install", argocd, "--upgrade", argocd],
    ] {
        let output = run(&[arguments, &["-o", "json"]].concat(), b"");
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(report["summary"]["ignored"], json!(1), "{arguments:?}: {report}");
        assert!(stderr(&output).contains(NOTE), "{arguments:?}: {}", stderr(&output));
    }
}

/// Natively and inside the wasm.
#[test]
fn ignored_whatever_the_annotation_holds_a_record_is_judged() {
    let huge = |part: &str| format!("\"{}\"", part.repeat(200_000 / part.len()));
    let values = [
        "~",
        "5",
        "-1e400",
        "true",
        "[hook-order]",
        "{}",
        "\",,,\"",
        "\"  \"",
        "\",hook-order ,\\n\"",
        "&a hook-order",
    ];
    let huge = [",", " ", "hook-order,", "x", "\\u202e,", "foreign-takeover, "].map(huge);
    for value in values.into_iter().chain(huge.iter().map(String::as_str)) {
        let text = HOOK.replace("WORDS", value);
        let secret = Revision::new("orders", "shop", 1, "pending-install", &text).secret();
        let answer = ask_with(&creation(&secret), &json!({}), cluster([]));
        let said = json!(answer.response).to_string();
        assert!(answer.response.accepted && said.len() < 5_000, "{value:.40}: {said:.5000}");
    }
}

#[test]
fn ignored_fields_are_not_mended() {
    let fix = |words: &str| stdout(&run(&["fix"], HOOK.replace("WORDS", words).as_bytes()));
    let mended = HOOK.replace("pre-upgrade, pre-install", "pre-install,pre-upgrade");
    assert_eq!(fix("hook-weight"), mended.replace("WORDS", "hook-weight"));
    assert_eq!(fix("hook-events"), HOOK.replace("WORDS", "hook-events"));
    let policy = |words: &str| {
        let stream = HOOK.replace("hook-failed,before-hook-creation", "hook-failed").replace("WORDS", words);
        let output = run(&["fix"], stream.as_bytes());
        (stdout(&output).contains("before-hook-creation,hook-failed"), stderr(&output).contains("delete-policy"))
    };
    assert_eq!((policy("hook-events"), policy("hook-delete-policy")), ((true, true), (false, false)));
    let misspelt = run(&["fix"], HOOK.replace("WORDS", "hook-event").as_bytes());
    assert!(stderr(&misspelt).contains("switch off: \"hook-event\"."), "{}", stderr(&misspelt));
    let one_sided = HOOK.replace("pre-upgrade, pre-install", "pre-upgrade").replace("WORDS", "hook-events");
    assert_eq!(stdout(&run(&["fix", "--complete-events"], one_sided.as_bytes())), one_sided);
}
