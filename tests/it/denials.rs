//! The words of a denial, as a terminal shows them, and the ways past it.

use serde_json::{Value, json};
use stable_hooks::engine::Answer;

use crate::engines::{ask_with, cluster};
use crate::releases::render::{Revision, creation};
use crate::releases::{notes, reported};

/// As Helm 3 and 4 print what the API server says of a webhook of Kubewarden.
const HELM_SAYS: &str = "Error: UPGRADE FAILED: create: failed to create: admission webhook \
                         \"clusterwide-stable-hooks-releases.kubewarden.admission\" denied the request: ";

const COLUMNS: usize = 98;

/// How many lines a terminal needs for a denial and for all warnings beside it.
fn lines_on_screen(answer: &Answer) -> usize {
    let warnings = answer.response.warnings.iter().flatten();
    let warnings = warnings.map(|warning| format!("W1122 10:00:00.000000   12345 warnings.go:110] Warning: {warning}"));
    let denial = format!("{HELM_SAYS}{}", answer.response.message.as_deref().unwrap_or_default());
    let printed: Vec<_> = warnings.chain(denial.lines().map(str::to_owned)).collect();
    printed.iter().map(|line| line.chars().count().div_ceil(COLUMNS)).sum()
}

fn job(name: &str, annotations: &[(&str, &str)]) -> String {
    document("batch/v1", "Job", name, annotations)
}

fn account(name: &str, annotations: &[(&str, &str)]) -> String {
    document("v1", "ServiceAccount", name, annotations)
}

fn document(version: &str, kind: &str, name: &str, annotations: &[(&str, &str)]) -> String {
    let annotations: Vec<_> = annotations.iter().map(|(key, value)| format!("{key}: \"{value}\"")).collect();
    format!(
        "# Source: upgrade-only-hook/templates/migrations.yaml\napiVersion: {version}\nkind: {kind}\nmetadata:\n  labels: \
         {{app.kubernetes.io/component: migrations}}\n  name: {name}\n  annotations: {{{}}}\n---\n",
        annotations.join(", ")
    )
}

const OWN: [(&str, &str); 2] = [("meta.helm.sh/release-name", "orders"), ("meta.helm.sh/release-namespace", "shop")];
const HOOK: [(&str, &str); 1] = [("helm.sh/hook", "pre-upgrade")];
const LEFT: [(&str, &str); 2] =
    [("helm.sh/hook", "pre-install,pre-upgrade"), ("helm.sh/hook-delete-policy", "hook-failed")];

fn live(documents: &[String]) -> Vec<Value> {
    let read = |text: &String| {
        let mut object = stable_hooks::input::value(text.trim_end_matches("---\n").as_bytes()).unwrap();
        object["metadata"]["namespace"] = json!("shop");
        object["metadata"]["uid"] = json!("1");
        object
    };
    documents.iter().map(read).collect()
}

/// The upgrade to revision 8 that renders this, over what lives.
fn upgrade(rendered: &[String], living: &[String], settings: &Value, labels: &[(&str, &str)]) -> Answer {
    let rendered = rendered.concat();
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let revision = Revision { labels, ..Revision::new("orders", "shop", 8, "pending-upgrade", &rendered) };
    ask_with(&creation(&revision.secret()), settings, cluster(&live(living)))
}

fn message(answer: &Answer) -> &str {
    answer.response.message.as_deref().unwrap_or_default()
}

fn flip(settings: &Value, labels: &[(&str, &str)]) -> Answer {
    let name = "orders-migrations";
    upgrade(&[account(name, &HOOK), job(name, &HOOK)], &[account(name, &OWN), job(name, &OWN)], settings, labels)
}

#[test]
fn denial_of_one_job_and_its_account_fits_ten_lines() {
    let answer = flip(&json!({}), &[]);
    assert_eq!(answer.response.warnings, None);
    insta::assert_snapshot!("denial_flip", message(&answer));
    assert!(lines_on_screen(&answer) <= 10, "{} lines", lines_on_screen(&answer));
    assert!(message(&answer).lines().skip(1).all(|line| line.chars().count() <= COLUMNS), "{}", message(&answer));
}

#[test]
fn denial_of_forty_objects_fits_twelve_lines() {
    let names: Vec<_> = (1..=40).map(|number| format!("orders-migrations-{number}")).collect();
    let [rendered, living] =
        [&HOOK[..], &OWN].map(|annotations| names.iter().map(|name| job(name, annotations)).collect::<Vec<_>>());
    let settings = json!({"releases": {"limits": {"lookups": 40}}});
    let answer = upgrade(&rendered, &living, &settings, &[]);
    assert_eq!(reported(&answer).len(), 40);
    insta::assert_snapshot!("denial_forty", message(&answer));
    assert!(lines_on_screen(&answer) <= 12, "{} lines", lines_on_screen(&answer));
}

#[test]
fn denial_names_what_is_in_the_way_and_each_rule_and_template_once() {
    let other = document("v1", "ServiceAccount", "other", &HOOK).replace("templates/migrations", "templates/other");
    let rendered = [account("left", &LEFT), job("left", &LEFT), other, job("a", &HOOK)];
    let living = [account("left", &LEFT), job("left", &LEFT), account("other", &OWN), job("a", &OWN)];
    let answer = upgrade(&rendered, &living, &json!({}), &[]);
    insta::assert_snapshot!("denial_of_two_rules", message(&answer));
}

#[test]
fn denial_of_a_takeover_is_for_the_administrator() {
    let others = [("meta.helm.sh/release-name", "billing"), ("meta.helm.sh/release-namespace", "shop")];
    let asked = |settings: Value, labels| {
        upgrade(&[account("shared", &HOOK)], &[account("shared", &others)], &settings, labels)
    };
    let label = [("stable-hooks/accept-foreign-takeover", "8")];
    let answer = asked(json!({}), &label[..]);
    insta::assert_snapshot!("denial_takeover", message(&answer));
    for (entry, passes) in [
        ("shop/orders@8:foreign-takeover", true),
        ("shop/orders@8", true),
        ("shop/orders@8:hook-order", false),
        ("shop/orders@7:foreign-takeover", false),
    ] {
        let answer = asked(json!({"releases": {"accept": [entry]}}), &[]);
        assert_eq!(answer.response.accepted, passes, "{entry}");
    }
}

#[test]
fn denial_is_lifted_by_the_label_of_its_rule_and_revision() {
    let accept = "stable-hooks/accept-release-identity-flip";
    for (labels, settings, passes) in [
        (vec![(accept, "8")], json!({}), true),
        (vec![(accept, "7")], json!({}), false),
        (vec![(accept, "true")], json!({}), false),
        (vec![("stable-hooks/accept-hook-order", "8")], json!({}), false),
        (vec![("stable-hooks/accept-flip", "8")], json!({}), false),
        (vec![(accept, "8")], json!({"releases": {"acceptLabel": false}}), false),
    ] {
        let answer = flip(&settings, &labels);
        assert_eq!(answer.response.accepted, passes, "{labels:?} {settings}");
        // Both objects in one warning.
        let warnings = answer.response.warnings.iter().flatten().count();
        assert_eq!((warnings, reported(&answer).len()), (usize::from(passes), 2), "{labels:?} {settings}");
    }
    let answer = flip(&json!({"releases": {"acceptLabel": false}}), &[]);
    let told = "an administrator writes `releases.accept: [\"shop/orders@8:release-identity-flip\"]`.";
    assert!(message(&answer).contains(told), "{}", message(&answer));
}

/// Every rule for releases but one has a label, and the one of another rule does not lift it.
#[test]
fn denial_of_any_rule_prints_the_label_that_lifts_it() {
    let left = [job("left", &LEFT)];
    let refused = upgrade(&left, &left, &json!({}), &[]);
    assert!(message(&refused).contains("`--labels stable-hooks/accept-hook-never-deleted=8`"), "{}", message(&refused));
    let accepted = upgrade(&left, &left, &json!({}), &[("stable-hooks/accept-hook-never-deleted", "8")]);
    assert_eq!(reported(&accepted), ["hook-never-deleted warn Job/left"]);
    assert!(accepted.response.accepted);
}

#[test]
fn denial_of_what_cannot_be_judged_is_for_the_administrator() {
    let mut settings = json!({"releases": {"undecodable": "deny"}});
    let secret = Revision::new("orders", "shop", 8, "pending-upgrade", "").secret_with("bm8=");
    let asked = |settings: &Value| ask_with(&creation(&secret), settings, cluster(&[]));
    insta::assert_snapshot!("denial_undecodable", message(&asked(&settings)));
    settings["releases"]["accept"] = json!(["shop/orders@8:hook-order"]);
    assert!(!asked(&settings).response.accepted, "an entry for rules is not about what no rule has seen");
    settings["releases"]["accept"] = json!(["shop/orders@8"]);
    let accepted = asked(&settings);
    assert!(accepted.response.accepted);
    assert!(notes(&accepted)[0].contains("cannot be read"), "{:?}", notes(&accepted));
}

/// The API server cuts each of them to 256 characters where all have more than 4,096.
#[test]
fn warnings_are_one_a_cause_and_short_enough_to_arrive_whole() {
    let labels = [("stable-hooks/accept-hook-never-deleted", "8")];
    // Every delete policy is written in another way: as many causes as Jobs.
    let hooks: Vec<_> = (0..40)
        .map(|number| {
            let policy = if number % 2 == 0 { "hook-failed" } else { "hook-succeeded" };
            let source = format!("templates/{number}");
            let hook = [("helm.sh/hook", "pre-upgrade"), ("helm.sh/hook-delete-policy", policy)];
            let weight = number.to_string();
            let hook = [hook[0], hook[1], ("helm.sh/hook-weight", &*weight)];
            job(&format!("orders-{number}"), &hook).replace("templates/migrations", &source)
        })
        .collect();
    let settings = json!({"releases": {"limits": {"lookups": 40}}, "rules": {"one-sided-hook": "off"}});
    let answer = upgrade(&hooks, &hooks, &settings, &labels);
    assert!(answer.response.accepted && reported(&answer).len() >= 40);
    let warnings = answer.response.warnings.unwrap();
    assert_eq!(warnings.len(), 2, "{warnings:#?}");
    assert!(
        warnings.iter().all(|warning| warning.contains("and 17 more: each has the delete policy")),
        "{warnings:#?}"
    );
    assert!(
        warnings.iter().all(|warning| warning.contains("templates/4.yaml and 17 more, ")
            || warning.contains("templates/5.yaml and 17 more, ")),
        "{warnings:#?}"
    );
}

#[test]
fn warnings_that_would_be_cut_are_counted_instead() {
    let needy: Vec<_> = (0..60)
        .map(|number| {
            job(&format!("orders-{number}"), &HOOK).replace(
                "---\n",
                &format!("spec: {{template: {{spec: {{serviceAccountName: account-{number}}}}}}}\n---\n"),
            )
        })
        .collect();
    let settings = json!({"releases": {"limits": {"lookups": 200}}, "rules": {"hook-missing-dependency": "warn", "one-sided-hook": "off"}});
    let answer = upgrade(&needy, &[], &settings, &[]);
    assert_eq!(reported(&answer).len(), 60);
    let warnings = answer.response.warnings.unwrap();
    assert!(warnings.iter().map(|warning| warning.chars().count()).sum::<usize>() <= 4096);
    let (last, told) = warnings.split_last().unwrap();
    assert_eq!(*last, format!("stable-hooks warns of {} more, which find no room here.", 60 - told.len()));
}
