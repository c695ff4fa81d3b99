//! A word that only Secrets hold must not come out, whatever is broken around it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD as BASE64;
use serde_json::{Value, json};
use stable_hooks::engine::payload;

use crate::cli::{run, stdout, temporary};
use crate::engines::{ask_with, cluster, validate};
use crate::releases::render::{Revision, creation};

const CANARY: &str = "Kanarienvogel7";

/// In plain text, as a Secret's data, and as the text of a record.
fn is_silent(what: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for canary in [CANARY.to_owned(), BASE64.encode(CANARY), BASE64.encode(BASE64.encode(CANARY))] {
        assert!(!text.contains(&canary), "{what} says {canary}: {text}");
    }
}

/// A record that holds the word wherever Helm stores what is secret.
fn record(version: u64, status: &str) -> Value {
    let secret = |hook: &str| {
        format!(
            "---\n# Source: shop/templates/secret.yaml\napiVersion: v1\nkind: Secret\nmetadata: {{name: password{hook}}}\n\
             stringData: {{password: {CANARY}}}\ndata: {{password: {}}}\n",
            BASE64.encode(CANARY)
        )
    };
    let hook = |text: String| text.replace("password}", "password-hook, annotations: {helm.sh/hook: pre-install}}");
    let job = "---\n# Source: shop/templates/job.yaml\napiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, labels: \
               {app: migrate}, annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}}\nspec: {template: {spec: {serviceAccountName: \
               late, containers: [{name: a, env: [{name: PASSWORD, value: Kanarienvogel7}]}]}}}\n\
               ---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: late}\n";
    let list = format!(
        "---\napiVersion: v1\nkind: SecretList\nmetadata: {{name: l, annotations: {{helm.sh/hook: pre-upgrade}}}}\nitems:\n\
         - {{metadata: {{name: of-list}}, stringData: {{password: {CANARY}}}}}\n"
    );
    let rendered = secret("") + &hook(secret("")) + &list + job;
    let mut record = Revision::new("shop", "shop", version, status, &rendered).json();
    record["config"] = json!({"password": CANARY, "list": [CANARY]});
    record["info"]["notes"] = json!(format!("your password is {CANARY}"));
    record["chart"]["values"] = json!({"password": CANARY});
    record["chart"]["files"] = json!([{"name": "password.txt", "data": BASE64.encode(CANARY)}]);
    let template = json!({"name": "templates/secret.yaml", "data": BASE64.encode(format!("helm.sh/hook {CANARY}"))});
    record["chart"]["templates"].as_array_mut().unwrap().push(template);
    record
}

/// The texts of a record that are not what Helm wrote: cut off, with another type, with bytes in the middle of YAML.
fn broken(record: &Value) -> Vec<String> {
    let json = record.to_string();
    let cut = |part: usize| String::from_utf8_lossy(&json.as_bytes()[..json.len() * part / 40]).into_owned();
    let mut broken: Vec<_> = (1..40).map(cut).collect();
    for (pointer, junk) in [
        ("/config", json!(CANARY)),
        ("/chart", json!(CANARY)),
        ("/chart/templates", json!([CANARY])),
        ("/chart/templates/0/data", json!(CANARY)),
        ("/hooks", json!(CANARY)),
        ("/hooks/0", json!(CANARY)),
        ("/hooks/0/manifest", json!(format!("{CANARY}: ["))),
        ("/hooks/0/manifest", json!(format!("kind: Secret\nmetadata: *{CANARY}"))),
        ("/hooks/0/events", json!([CANARY])),
        ("/hooks/0/weight", json!(CANARY)),
        ("/manifest", json!(format!("kind: Secret\n\t{CANARY}: %{CANARY}\n---\n{{{{{CANARY}"))),
        ("/manifest", json!([CANARY])),
        ("/version", json!(CANARY)),
        ("/info", json!(CANARY)),
        ("/info/status", json!(CANARY)),
        ("/apply_method", json!(CANARY)),
    ] {
        let mut other = record.clone();
        *other.pointer_mut(pointer).unwrap() = junk;
        broken.push(other.to_string());
    }
    broken.push(format!("{CANARY}{json}"));
    broken.push(json.replace("\"hooks\"", &format!("\"{CANARY}\": 1, \"hooks\"")));
    broken
}

fn secret(version: u64, status: &str, text: &str) -> Value {
    Revision::new("shop", "shop", version, status, "").secret_with(&BASE64.encode(BASE64.encode(text)))
}

#[test]
fn canary_the_policy_says_nothing_of_a_record() {
    let whole = secret(1, "deployed", &record(1, "deployed").to_string());
    let upgrade = record(2, "pending-upgrade");
    let settings = json!({"releases": {"scope": "all", "baseline": "record"}});
    let mut texts = broken(&upgrade);
    texts.push(upgrade.to_string());
    for text in texts {
        let request = creation(&secret(2, "pending-upgrade", &text));
        let answer = ask_with(&request, &settings, cluster([&whole]));
        is_silent("the policy", json!(answer.response).to_string().as_bytes());
        // The same record as what is compared with.
        let good = creation(&secret(2, "pending-upgrade", &upgrade.to_string()));
        let answer = ask_with(&good, &settings, cluster([&secret(1, "deployed", &text)]));
        is_silent("the policy, of a baseline,", json!(answer.response).to_string().as_bytes());
    }
}

#[test]
fn canary_the_policy_says_nothing_of_a_request_that_it_cannot_read() {
    let mut request = creation(&secret(1, "pending-install", &record(1, "pending-install").to_string()));
    request["object"]["data"]["password"] = json!(CANARY);
    request["object"]["stringData"] = json!({"password": CANARY});
    let answer = |request: &Value| json!(ask_with(request, &json!({}), cluster([])).response).to_string();
    is_silent("validate", answer(&request).as_bytes());
    let whole = payload(&request, &json!({}));
    for part in 0..60 {
        is_silent("validate, cut off,", &validate(&whole[..whole.len() * part / 60]));
    }
    for field in ["uid", "operation", "kind", "object", "userInfo", "namespace", "name"] {
        let mut other = request.clone();
        other[field] = json!(CANARY);
        is_silent(field, answer(&other).as_bytes());
    }
    for data in [CANARY, "", "%", &BASE64.encode(CANARY), &BASE64.encode(BASE64.encode(CANARY))] {
        let mut other = request.clone();
        other["object"]["data"]["release"] = json!(data);
        is_silent("data.release", answer(&other).as_bytes());
    }
}

#[test]
fn canary_the_command_line_says_nothing_of_records() {
    let (install, upgrade) = (record(1, "deployed"), record(2, "deployed"));
    let mut files =
        vec![temporary("canary-good.json", secret(2, "deployed", &upgrade.to_string()).to_string().as_bytes())];
    for (number, text) in broken(&upgrade).iter().enumerate().step_by(3) {
        let object = secret(2, "deployed", text).to_string();
        files.push(temporary(&format!("canary-{number}.json"), object.as_bytes()));
    }
    let cut = secret(2, "deployed", &upgrade.to_string()).to_string();
    files.push(temporary("canary-cut.json", &cut.as_bytes()[..cut.len() - 200]));
    let baseline =
        temporary("canary-baseline.json", secret(1, "deployed", &install.to_string()).to_string().as_bytes());
    for file in &files {
        let (file, baseline) = (file.to_str().unwrap(), baseline.to_str().unwrap());
        for arguments in [
            ["release", "-o", "human"],
            ["release", "-o", "json"],
            ["release", "-o", "sarif"],
            ["release", "-o", "markdown"],
            ["release", "--diff", "-ojson"],
            ["timeline", "-o", "human"],
            ["timeline", "-o", "markdown"],
            ["timeline", "-o", "json"],
            ["timeline", "-o", "html"],
            ["review", "-o", "json"],
        ] {
            let compared = if arguments[0] == "review" { vec![] } else { vec!["--baseline", baseline] };
            let output = run(&[&arguments[..], &[file], &compared].concat(), b"");
            is_silent(&format!("{arguments:?} {file}"), &output.stdout);
            is_silent(&format!("{arguments:?} {file}"), &output.stderr);
        }
    }
}

/// What a Job is given may be asked for, and is the same on both sides; what a Secret holds is not.
#[test]
fn canary_the_command_line_says_no_value_of_a_secret_that_changed() {
    let other = |record: &Value| {
        let mut record = record.clone();
        for hook in record["hooks"].as_array_mut().unwrap().iter_mut().filter(|hook| hook["kind"] != "Job") {
            let manifest = hook["manifest"].as_str().unwrap();
            let manifest = manifest.replace(CANARY, "Blaumeise7").replace(&BASE64.encode(CANARY), "Qmxhd==");
            hook["manifest"] = json!(manifest);
        }
        record
    };
    let (old, new) = (record(1, "deployed"), record(2, "deployed"));
    let file = |name: String, version, text: &str| {
        temporary(&name, secret(version, "deployed", text).to_string().as_bytes()).to_str().unwrap().to_owned()
    };
    let changed = [(other(&old), new.clone()), (old.clone(), other(&new))];
    let whole = changed.iter().map(|(old, new)| (old.to_string(), new.to_string()));
    let broken = broken(&other(&new)).into_iter().chain(broken(&new)).map(|text| (old.to_string(), text));
    let mut seen = 0;
    for (number, (old, new)) in whole.chain(broken).enumerate() {
        let (old, new) =
            (file(format!("canary-old-{number}.json"), 1, &old), file(format!("canary-new-{number}.json"), 2, &new));
        for format in ["human", "json", "markdown"] {
            let output = run(&["release", &new, "--baseline", &old, "--diff", "--show-values", "-o", format], b"");
            is_silent(&format!("--diff -o {format} {new}"), &output.stdout);
            is_silent(&format!("--diff -o {format} {new}"), &output.stderr);
            seen += stdout(&output).matches("stringData").count();
        }
    }
    assert!(seen >= 2 * 2 * 3, "both Secrets that changed are listed: {seen}");
}

/// A key can be as secret as what stands behind it.
#[test]
fn canary_the_command_line_says_no_key_of_a_secret_that_changed() {
    let hook = "annotations: {helm.sh/hook: 'pre-install,pre-upgrade'}";
    let rendered = |key: &str| {
        let data = format!("data: {{{key}: eA==}}\nstringData: {{{key}: x}}\n");
        let of_list = data.replace('\n', "\n  ");
        format!(
            "---\napiVersion: v1\nkind: Secret\nmetadata: {{name: a, {hook}}}\n{data}\
             ---\napiVersion: v1\nkind: List\nmetadata: {{name: l, {hook}}}\nitems:\n- apiVersion: v1\n  kind: Secret\n  \
             metadata: {{name: b, {hook}}}\n  {of_list}\n"
        )
    };
    let keys = [CANARY.to_owned(), format!("{CANARY}-new")];
    let records = [0, 1].map(|number| {
        let text = rendered(&keys[number]);
        let revision = Revision::new("shop", "shop", number as u64 + 1, "deployed", &text);
        temporary(&format!("canary-key-{number}.json"), revision.secret().to_string().as_bytes())
    });
    let texts =
        [0, 1].map(|number| temporary(&format!("canary-key-{number}.yaml"), rendered(&keys[number]).as_bytes()));
    let [old, new] = records.each_ref().map(|file| file.to_str().unwrap());
    let [first, next] = texts.each_ref().map(|file| file.to_str().unwrap());
    for arguments in [
        &["release", new, "--baseline", old, "--diff"][..],
        &["chart", "--install", first, "--upgrade", next, "--diff"],
        &["chart", "--argocd", "--install", first, "--upgrade", next],
    ] {
        for format in ["human", "json", "markdown"] {
            let output = run(&[arguments, &["--show-values", "-o", format]].concat(), b"");
            is_silent(&format!("{arguments:?} -o {format}"), &output.stdout);
            is_silent(&format!("{arguments:?} -o {format}"), &output.stderr);
            assert_eq!(stdout(&output).matches("stringData").count(), 2, "{arguments:?}: {}", stdout(&output));
        }
    }
}

#[test]
fn canary_the_command_line_says_nothing_of_manifests() {
    let secret = format!("apiVersion: v1\nkind: Secret\nmetadata: {{name: a}}\nstringData:\n  password: {CANARY}\n");
    let streams = [
        secret.clone(),
        secret.replace("password: ", "password: [[["),
        secret.replace("password: ", "password: *"),
        secret.replace("password: ", "\tpassword: %"),
        secret.replace("apiVersion: v1\n", ""),
        secret.replace("kind: Secret", "kind: [Secret"),
        format!("{{\"apiVersion\": \"v1\", \"kind\": \"Secret\", \"data\": \"{CANARY}"),
        CANARY.to_owned(),
        format!("{CANARY}: {CANARY}\n---\n{secret}"),
        format!("- {CANARY}\n"),
        secret.replace("metadata: {name: a}", &format!("metadata: {{name: a, annotations: [{CANARY}]}}")),
        secret.replace("name: a}", "name: a, annotations: {helm.sh/hook: pre-install}}"),
        secret.replace("name: a}", "name: a, annotations: {helm.sh/hook: pre-install}}").replace("kind", "Kind"),
    ];
    let blank =
        secret.replace(CANARY, "Blaumeise7").replace("name: a}", "name: a, annotations: {helm.sh/hook: pre-install}}");
    let blank = temporary("canary-blank.yaml", blank.as_bytes());
    let blank = blank.to_str().unwrap();
    let settings = temporary("canary-settings.yaml", format!("releases: {{accept: *{CANARY}}}\n").as_bytes());
    for (number, stream) in streams.iter().enumerate() {
        let file = temporary(&format!("canary-stream-{number}.yaml"), stream.as_bytes());
        let file = file.to_str().unwrap();
        for arguments in [
            vec!["review", file],
            vec!["review", "--audit", "-o", "policyreport", file],
            vec!["review", "--cluster", file, file],
            vec!["review", "--settings", settings.to_str().unwrap(), file],
            vec!["review", "-o", "markdown", file],
            vec!["release", file],
            vec!["chart", "--install", file, "--upgrade", file],
            vec!["timeline", "--install", file, "--upgrade", file],
            vec!["chart", "--install", blank, "--upgrade", file, "--diff", "--show-values"],
            vec!["chart", "--install", file, "--upgrade", blank, "--diff", "--show-values", "-o", "json"],
            vec!["chart", "--argocd", "--install", blank, "--upgrade", file, "--show-values", "-o", "json"],
        ] {
            let output = run(&arguments, b"");
            is_silent(&format!("{arguments:?}"), &output.stdout);
            is_silent(&format!("{arguments:?}"), &output.stderr);
        }
        let fixed = run(&["fix", file], b"");
        assert_eq!(stdout(&fixed), *stream, "fix gives back what it is given");
        is_silent("fix", &fixed.stderr);
    }
}
