//! `stable-hooks fix`: a stream in, the same stream out but for the annotations that are safe to mend.

mod doubts;
mod needs;
mod post_renderer;
mod properties;

use crate::cli::{code, run, stderr, stdout};

/// A migration Job with these lines of annotations.
pub(crate) fn job(annotations: &str) -> String {
    format!(
        "# Source: shop/templates/job.yaml\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: migrate\n  \
         labels: {{app: migrate}}\n  annotations:\n{annotations}spec:\n  template:\n    spec:\n      \
         serviceAccountName: migrate\n      containers: []\n"
    )
}

/// A ServiceAccount of the Job, with these lines of metadata.
fn account(metadata: &str) -> String {
    format!("apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: migrate\n{metadata}")
}

/// The stream that comes out, and what is said about what stays; all that has changed was said too.
fn fixed(arguments: &[&str], stream: &str) -> (String, String) {
    let output = run(&[&["fix"], arguments].concat(), stream.as_bytes());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let (out, said) = (stdout(&output), stderr(&output));
    let (mended, left): (Vec<_>, Vec<_>) = said.split_inclusive('\n').partition(|line| line.contains("\" is now \""));
    let changed = out.lines().zip(stream.lines()).filter(|(after, before)| after != before).count();
    assert_eq!(mended.is_empty(), out == stream, "{said}");
    assert!(mended.len() >= changed, "{changed} lines changed: {said}");
    (out, left.concat())
}

/// What comes out is `expected`, again when it goes in once more, and nothing is left to say.
fn becomes(arguments: &[&str], stream: &str, expected: &str) {
    assert_eq!(fixed(arguments, stream), (expected.to_owned(), String::new()));
    assert_eq!(fixed(arguments, expected).0, expected);
}

/// Nothing changes, and that is said in these words.
fn stays(arguments: &[&str], stream: &str, words: &[&str]) {
    let (out, said) = fixed(arguments, stream);
    assert_eq!(out, stream);
    for word in words {
        assert!(said.contains(word), "{word:?} is not in {said}");
    }
    assert_eq!(said.is_empty(), words.is_empty(), "{said}");
}

#[test]
fn fix_spells_events_and_adds_the_missing_policy() {
    let before = job(
        "    # first\n    helm.sh/hook: \"Pre-Upgrade, pre-install\"   # why\n    helm.sh/hook-delete-policy: hook-failed\n",
    );
    let after = job(
        "    # first\n    helm.sh/hook: \"pre-install,pre-upgrade\"   # why\n    helm.sh/hook-delete-policy: before-hook-creation,hook-failed\n",
    );
    let (out, said) = fixed(&[], &before);
    assert_eq!(out, after);
    // hook-failed takes logs away, which is said and left.
    assert!(
        said.starts_with("-:2: Job migrate (template shop/templates/job.yaml): helm.sh/hook-delete-policy is"),
        "{said}"
    );
    assert!(said.contains("It stays as it is: without that policy Helm would leave there"), "{said}");
    assert_eq!(said.lines().count(), 1);
    assert_eq!(fixed(&[], &after), (after, said));
}

#[test]
fn fix_keeps_marks_breaks_tabs_and_blanks() {
    let text = job(
        "    helm.sh/hook: PRE-install,pre-upgrade\t\n    helm.sh/hook-delete-policy: |-\n      Hook-Succeeded\n\n",
    );
    let before =
        format!("\u{feff}\n--- # top\n{text}\n\n---\n# nothing\n---\n{text}...\n---\n\n").replace('\n', "\r\n");
    let after = before
        .replace("PRE-install,pre", "pre-install,pre")
        .replace("Hook-Succeeded", "before-hook-creation,hook-succeeded");
    // The same name twice: an account that is deleted for the other would be gone.
    stays(&[], &before.replace("PRE", "pre"), &["more than once"]);
    let once = |stream: &str| stream.replacen("name: migrate", "name: migrate-first", 1);
    assert_eq!(fixed(&[], &once(&before)).0, once(&after));
}

#[test]
fn fix_leaves_the_delete_policy_of_a_hook_without_a_name() {
    // With before-hook-creation Helm fails: "resource name may not be empty".
    for policy in ["hook-failed", "Hook-Succeeded, hook-failed", "\"\""] {
        let hook =
            job(&format!("    helm.sh/hook: PRE-install,pre-upgrade\n    helm.sh/hook-delete-policy: {policy}\n"));
        let hook = hook.replace("name: migrate\n", "generateName: migrate-\n");
        let stream = format!("{hook}---\n{hook}");
        becomes(&[], &stream, &stream.replace("PRE-install", "pre-install"));
    }
}

#[test]
fn fix_leaves_what_helm_assumes() {
    for annotations in [
        "    helm.sh/hook: pre-install,pre-upgrade\n",
        "    helm.sh/hook: post-install,pre-upgrade\n    helm.sh/hook-delete-policy: \"before-hook-creation\"\n",
    ] {
        stays(&[], &job(annotations), &[]);
    }
}

#[test]
fn fix_switches_on_again_what_an_empty_or_misspelt_policy_switches_off() {
    let hook = "    helm.sh/hook: pre-install,pre-upgrade\n";
    for (before, after) in
        [("", " \"before-hook-creation\""), (" \"\"", " \"before-hook-creation\""), (" ~", " before-hook-creation")]
    {
        let policy = |value: &str| job(&format!("{hook}    helm.sh/hook-delete-policy:{value}\n"));
        becomes(&[], &policy(before), &policy(after));
    }
    let (out, said) = fixed(&[], &job(&format!("{hook}    helm.sh/hook-delete-policy: hook-succeded\n")));
    assert!(out.contains("policy: before-hook-creation,hook-succeded\n"), "{out}");
    assert!(said.contains("hook-succeded"), "{said}");
}

#[test]
fn fix_reads_json() {
    let before = "{\n    \"apiVersion\": \"batch/v1\",\n    \"kind\": \"Job\",\n    \"metadata\": {\"name\": \"a\", \"labels\": {\"app\": \"migrate\"},\n        \"annotations\": {\"helm.sh/hook\": \"PRE-INSTALL,pre-upgrade\"}}\n}";
    becomes(&[], before, &before.replace("PRE-INSTALL", "pre-install"));
}

#[test]
fn fix_never_makes_a_hook_of_a_plain_object() {
    let plain = job("    other: x\n");
    stays(&[], &plain, &["plain Job", "It stays as it is: making a hook of it would be a flip."]);
}

#[test]
fn fix_never_touches_a_weight() {
    let hook = "    helm.sh/hook: pre-install,pre-upgrade\n";
    stays(
        &[],
        &job(&format!("{hook}    helm.sh/hook-weight: \"1.5\"\n")),
        &["helm.sh/hook-weight", "could change the order"],
    );
    stays(&[], &job(&format!("{hook}    helm.sh/hook-weight: \"5\"\n")), &[]);
}

#[test]
fn fix_leaves_unknown_events_to_the_author() {
    stays(&[], &job("    helm.sh/hook: pre-install,pre-sync\n"), &["pre-sync", "only the chart's author can say"]);
}

#[test]
fn fix_touches_migrations_only_and_says_so() {
    let hook = job("    helm.sh/hook: PRE-INSTALL,pre-upgrade\n");
    let unlabelled = hook.replace("app: migrate", "app: backup");
    stays(&[], &unlabelled, &["no label says that it is a migration", "stable-hooks/migration: \"true\""]);
    stays(&[], &hook.replace("app: migrate", "app: migrate, stable-hooks/migration: \"false\""), &[]);
    stays(&[], &job("    helm.sh/hook: Test\n"), &[]);
    let settings = crate::cli::temporary("fix-all.yaml", b"selectors: [{}]\n");
    becomes(
        &["--settings", settings.to_str().unwrap()],
        &unlabelled,
        &unlabelled.replace("PRE-INSTALL", "pre-install"),
    );
}

#[test]
fn fix_mends_the_account_of_a_migration_unless_a_workload_lives_on_it() {
    let annotations = "  annotations: {helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed, helm.sh/hook-weight: \"-5\"}\n";
    let stream = format!("{}---\n{}", job("    helm.sh/hook: pre-install,pre-upgrade\n"), account(annotations));
    let mended = stream.replace(": hook-failed", ": \"before-hook-creation,hook-failed\"");
    assert_eq!(fixed(&[], &stream).0, mended);
    let deployment = "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: {template: {spec: {serviceAccountName: migrate}}}\n";
    stays(
        &[],
        &format!("{stream}{deployment}"),
        &["ServiceAccount migrate: helm.sh/hook-delete-policy stays \"hook-failed\": Deployment web runs as it"],
    );
}

#[test]
fn fix_says_that_helm_does_not_look_into_lists() {
    let list = "apiVersion: v1\nkind: List\nitems:\n- apiVersion: batch/v1\n  kind: Job\n  metadata:\n    name: a\n    labels: {app: migrate}\n    annotations: {helm.sh/hook: PRE-upgrade}\n";
    stays(&[], list, &["-:1: Job a: helm.sh/hook stays as it is: Helm does not look into a List"]);
}

#[test]
fn fix_leaves_aliases_merges_and_doubled_keys() {
    let hook = "    helm.sh/hook: ";
    for (annotations, reason) in [
        ("    a: &a PRE-install,pre-upgrade\n    helm.sh/hook: *a\n".to_owned(), "behind an alias"),
        ("    x: &a PRE-install,pre-upgrade\n    <<: {helm.sh/hook: PRE-install}\n".to_owned(), "merge key"),
        (format!("{hook}PRE-install,pre-upgrade\n{hook}PRE-install,pre-upgrade\n"), "more than once"),
        (format!("{hook}&a PRE-install,pre-upgrade\n    other: *a\n"), "would change something else"),
    ] {
        stays(&[], &job(&annotations), &["It stays as it is", reason]);
    }
}

#[test]
fn fix_completes_events_only_when_asked() {
    let hook = job("    helm.sh/hook: pre-upgrade\n");
    stays(&[], &hook, &["events are added only with --complete-events"]);
    becomes(&["--complete-events"], &hook, &hook.replace("pre-upgrade", "pre-install,pre-upgrade"));
}

#[test]
fn fix_completes_no_event_at_which_something_is_missing() {
    let hook = job("    helm.sh/hook: pre-upgrade\n");
    let plain = format!("{}---\n{hook}", account(""));
    stays(
        &["--complete-events"],
        &plain,
        &[
            "at pre-install it would need ServiceAccount migrate (spec.template.spec.serviceAccountName), which this stream creates only later",
            "\"pre-install,pre-upgrade\", with an account and configuration of its own as earlier hooks; or \"post-install,post-upgrade\"",
        ],
    );
    // After the install it is there.
    let post = plain.replace("pre-upgrade", "post-upgrade");
    becomes(&["--complete-events"], &post, &post.replace("post-upgrade", "post-install,post-upgrade"));
}

#[test]
fn fix_completes_a_job_together_with_its_account_in_order() {
    let annotations = |weight: &str| {
        account(&format!("  annotations:\n    helm.sh/hook: pre-upgrade\n    helm.sh/hook-weight: \"{weight}\"\n"))
    };
    let job = job("    helm.sh/hook: pre-upgrade\n");
    let ordered = format!("{job}---\n{}", annotations("-1"));
    becomes(&["--complete-events"], &ordered, &ordered.replace("pre-upgrade", "pre-install,pre-upgrade"));
    // Its account comes later: the account may be completed, the Job not.
    let unordered = format!("{job}---\n{}", annotations("1"));
    let (out, said) = fixed(&["--complete-events"], &unordered);
    assert_eq!(out.matches("pre-install").count(), 1, "{out}");
    assert!(out.starts_with(&job) && said.contains("which this stream creates only later"), "{said}");
}

#[test]
fn fix_completes_no_job_whose_account_cannot_be_completed() {
    let job = job("    helm.sh/hook: pre-upgrade\n");
    let ordered = |hook: &str| {
        account(&format!(
            "  annotations:\n    event: &event pre-upgrade\n    helm.sh/hook: {hook}\n    helm.sh/hook-weight: \"-1\"\n"
        ))
    };
    stays(
        &["--complete-events"],
        &format!("{job}---\n{}", ordered("*event")),
        &[
            "it would need ServiceAccount migrate",
            "ServiceAccount migrate: helm.sh/hook stays \"pre-upgrade\": it stands behind an alias",
        ],
    );
    let (out, said) = fixed(&["--complete-events"], &format!("{job}---\n{}", ordered("pre-upgrade")));
    assert_eq!((out.matches("pre-install,pre-upgrade").count(), said.as_str()), (2, ""));
}

#[test]
fn fix_passes_what_is_no_manifest_through_and_says_where() {
    let hook = job("    helm.sh/hook: PRE-install,pre-upgrade\n");
    for (broken, reason) in [
        (&b"hunter2: [\n"[..], "-:1: the document stays as it is: malformed YAML at column 10: unclosed bracket"),
        (b"\xff\xfe\n", "-:1: the document stays as it is: not UTF-8 text"),
        (b"just hunter2\n", "-:1: the document stays as it is: no Kubernetes object"),
        (b"a: hunter2\n", "no kind"),
    ] {
        let stream = [broken, b"---\n", hook.as_bytes()].concat();
        let output = run(&["fix"], &stream);
        assert_eq!(code(&output), 2);
        assert!(output.stdout.starts_with(broken) && output.stdout.ends_with(hook.replace("PRE", "pre").as_bytes()));
        assert!(stderr(&output).contains(reason) && !stderr(&output).contains("hunter2"), "{}", stderr(&output));
    }
    for empty in ["", "\n", "---\n", "# nothing\n---\n...\n"] {
        stays(&[], empty, &[]);
    }
}

#[test]
fn fix_cuts_documents_where_helm_does() {
    let text =
        job("    helm.sh/hook: PRE-install,pre-upgrade\n    note: |\n      ---\n      helm.sh/hook: PRE-install\n");
    let stream = format!("---# no blank\n{text}---apiVersion: v1\nkind: Secret\nmetadata: {{name: s}}\n");
    let expected = stream.replacen("PRE-install", "pre-install", 1);
    becomes(&[], &stream, &expected);
}

#[test]
fn fix_settings_are_checked() {
    let settings = crate::cli::temporary("fix-wrong.yaml", b"mutat: true\n");
    let output = run(&["fix", "--settings", settings.to_str().unwrap()], b"");
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("fix-wrong.yaml: ") && stderr(&output).contains("mutat"), "{}", stderr(&output));
}
