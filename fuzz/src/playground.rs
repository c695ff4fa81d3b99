//! The playground's one function: whatever is pasted, there is an answer, and its lines are lines of what was pasted.

use serde_json::{Value, json};

use crate::canary::{assert_silent, secrets, sings};
use crate::cost::{Most, bounded};

/// A document may copy 16 MiB with its aliases, and what is copied is held a few times.
const COST: Most =
    Most { bytes: 400 << 20, bytes_for_each: 10_000, allocations: 40_000_000, allocations_for_each: 10_000 };

/// What stands between two texts.
const BETWEEN: &str = "\n====\n";
/// Of every answer.
const KEYS: [&str; 9] = ["calls", "errors", "fixed", "marks", "notes", "patched", "report", "secrets", "timeline"];

/// Asks at every door. The first byte chooses one, and what stands beside the text.
pub fn playground(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    let Ok(text) = str::from_utf8(rest) else { return };
    let question = question(*choice, text);
    let answer = bounded(COST, input.len(), || ask(&question));
    check(&question, &answer);
    if input.len().is_multiple_of(16) && !sings(text) {
        let answer = ask(&self::question(*choice, &format!("{text}{}", secrets())));
        // A mended stream, a patched object and a payload are the texts themselves.
        for key in ["errors", "notes", "report", "secrets", "timeline"] {
            assert_silent(&answer[key].to_string());
        }
        answer["fixed"]["remarks"]
            .as_array()
            .into_iter()
            .flatten()
            .for_each(|remark| assert_silent(&remark.to_string()));
    }
}

fn question(choice: u8, text: &str) -> Value {
    let (text, settings) = if choice & 4 == 0 { (text, "") } else { text.split_once(BETWEEN).unwrap_or((text, "{}")) };
    let flag = choice & 8 != 0;
    match choice % 4 {
        0 => json!({"door": "review", "settings": settings, "review": text}),
        1 => json!({"door": "manifest", "settings": settings, "manifest": text, "completeEvents": flag}),
        _ => {
            let (before, after) = text.split_once(BETWEEN).unwrap_or((text, text));
            json!({"door": "renders", "settings": settings, "before": before, "after": after, "argocd": flag})
        }
    }
}

fn ask(question: &Value) -> Value {
    serde_json::from_str(&stable_hooks::playground::answer(&question.to_string())).expect("the answer is JSON")
}

fn check(question: &Value, answer: &Value) {
    let keys: Vec<_> = answer.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, KEYS);
    let items = |key: &str| answer[key].as_array().unwrap();
    let is_judged = !answer["report"].is_null();
    assert!(is_judged || !items("errors").is_empty(), "neither a report nor an error: {answer}");
    let results = answer["report"]["results"].as_array().map_or(0, Vec::len);
    for item in items("errors").iter().chain(items("marks")) {
        let Some(input) = item["input"].as_str() else { continue };
        let lines = question[input].as_str().unwrap().split(['\n', '\r']).count() as u64;
        assert!(item["line"].as_u64().is_none_or(|line| (1..=lines).contains(&line)), "{item} of {lines} lines");
    }
    for mark in items("marks") {
        let findings =
            &answer["report"]["results"][usize::try_from(mark["result"].as_u64().unwrap()).unwrap()]["findings"];
        assert!(mark["finding"].as_u64().unwrap() < findings.as_array().unwrap().len() as u64, "{mark} of {findings}");
    }
    if question["door"] == "review" && is_judged {
        assert_eq!((items("calls").len(), items("patched").len()), (results.min(100), results));
    }
}
