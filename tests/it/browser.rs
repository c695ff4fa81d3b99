//! The pages of `timeline` and `forecast` in a real headless Chromium, where this machine has one.

#![cfg(unix)]

use std::env;
use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::{Value, json};

use crate::cli::stdout;
use crate::forecast::page_of_a_flip;
use crate::helms::folder;
use crate::timeline::{flip, hostile, job, object, timeline_of};

/// What `CHROMIUM` names, else the one on the PATH. Without any the test is skipped, and says so.
fn chromium() -> Option<&'static Path> {
    static CHROMIUM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let found = CHROMIUM.get_or_init(|| {
        let folders = env::var_os("PATH").unwrap_or_default();
        let on_path = || env::split_paths(&folders).map(|folder| folder.join("chromium")).find(|path| path.is_file());
        let found = env::var_os("CHROMIUM").map(PathBuf::from).or_else(on_path);
        if found.is_none() {
            assert!(env::var_os("CI").is_none(), "the pages in a browser need Chromium: make chromium");
            // Not by a macro, whose words the test runner keeps to itself.
            let skipped = "SKIPPED: the pages in a browser (CHROMIUM names none, and no `chromium` is on the PATH)\n";
            stderr().write_all(skipped.as_bytes()).unwrap();
        }
        found
    });
    found.as_deref()
}

/// Measures the page's picture: its texts and lines, as boxes of left, top, right and bottom.
const MEASURE: &str = r#"
const box = (element) => { const {left, top, right, bottom} = element.getBoundingClientRect(); return [left, top, right, bottom]; };
const all = (selector) => [...document.querySelectorAll(selector)];
const words = (element) => [...element.childNodes].filter((node) => node.nodeName != "title").map((node) => node.textContent).join("");
const described = (selector) => all(selector).map((element) => ({class: element.getAttribute("class"), text: words(element).trim(), title: element.querySelector("title")?.textContent ?? "", box: box(element)}));
const result = {
  picture: box(document.querySelector("svg")),
  texts: described("svg text"),
  crossings: described("svg path.crossing"),
  needs: described("svg path.need"),
  findings: described(".findings li"),
  links: all("svg a").map((link) => [link.getAttribute("href"), document.querySelector(link.getAttribute("href")) != null, link.getAttribute("aria-label")]),
  scripts: document.scripts.length,
  background: getComputedStyle(document.body).backgroundColor,
};
"#;

/// Hands the script's `result` out.
const HAND_OUT: &str = r#"
document.body.textContent = "";
document.body.dataset.result = btoa(unescape(encodeURIComponent(JSON.stringify(result))));
"#;

fn measured(name: &str, page: &Output, more: &[&str]) -> Option<Value> {
    evaluated(name, page, MEASURE, more)
}

/// What the script finds in the page.
fn evaluated(name: &str, page: &Output, script: &str, more: &[&str]) -> Option<Value> {
    let chromium = chromium()?;
    let folder = folder(&format!("browser-{name}"));
    // The page forbids every script: ours too, if the policy were left in.
    let page = stdout(page);
    let page = page
        .replace("http-equiv=\"Content-Security-Policy\"", "")
        .replace("</body>", &format!("<script>{script}{HAND_OUT}</script></body>"));
    let file = folder.join("page.html");
    fs::write(&file, page).unwrap();
    let profile = format!("--user-data-dir={}", folder.join("profile").display());
    let output = Command::new(chromium)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1400,1000", "--dump-dom", &profile])
        .args(more)
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let result = dom.split("data-result=\"").nth(1).and_then(|rest| rest.split('"').next());
    let result = result.unwrap_or_else(|| panic!("no result: {}", String::from_utf8_lossy(&output.stderr)));
    Some(
        serde_json::from_slice(&base64::Engine::decode(&base64::engine::general_purpose::STANDARD, result).unwrap())
            .unwrap(),
    )
}

fn sides(measured: &Value) -> [f64; 4] {
    let side = |index: usize| measured["box"][index].as_f64().unwrap();
    [side(0), side(1), side(2), side(3)]
}

/// No text lies on another, and none leaves the picture.
fn assert_is_readable(found: &Value) {
    let picture = sides(&json!({"box": found["picture"]}));
    let texts: Vec<_> = found["texts"].as_array().unwrap().iter().collect();
    assert!(texts.len() > 5, "{found}");
    for (place, text) in texts.iter().enumerate() {
        let [left, top, right, bottom] = sides(text);
        assert!(
            left >= picture[0] && right <= picture[2] && top >= picture[1] && bottom <= picture[3],
            "{text} leaves the picture"
        );
        for other in &texts[place + 1..] {
            let beside = sides(other);
            // Two lines may touch: a box is higher than its letters.
            let overlap =
                left.max(beside[0]) + 1.0 < right.min(beside[2]) && top.max(beside[1]) + 3.0 < bottom.min(beside[3]);
            assert!(!overlap, "{text} lies on {other}");
        }
    }
}

#[test]
fn browser_a_flip_crosses_and_its_finding_is_there_to_read() {
    let Some(found) = measured("flip", &flip(&["-o", "html"]), &[]) else { return };
    assert_is_readable(&found);
    let [crossing] = found["crossings"].as_array().unwrap().as_slice() else { panic!("{found}") };
    assert_eq!(crossing["class"], "crossing trouble");
    assert_eq!(crossing["title"], "Job orders-migrations: → pre-upgrade hooks");
    // It leads from the resource on the left up to the hook on the right.
    let row = |text: &str, last: bool| {
        let mut rows =
            found["texts"].as_array().unwrap().iter().filter(|found| found["text"].as_str().unwrap().contains(text));
        sides(if last { rows.next_back() } else { rows.next() }.unwrap())
    };
    let ([left, top, right, bottom], resource, hook) =
        (sides(crossing), row("Job orders-migrations", false), row("weight 10", false));
    assert!(left > resource[2] - 400.0 && right < hook[0] && bottom - top > 100.0, "{crossing}");
    assert!((hook[1]..hook[3]).contains(&(top + 5.0)), "{crossing} ends at the hook, {hook:?}");
    let findings = found["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 1);
    let text = findings[0]["text"].as_str().unwrap();
    assert!(text.contains("release-identity-flip") && text.contains("it is gone"), "{text}");
    assert_eq!(found["links"][0], json!(["#finding-1-1", true, "findings of Job orders-migrations: 1"]));
}

#[test]
fn browser_names_of_any_kind_are_text_that_lies_on_no_other() {
    let install = hostile();
    let mut upgrade = hostile();
    for job in upgrade.iter_mut().step_by(2) {
        job["metadata"]["annotations"] = json!({"helm.sh/hook": "pre-upgrade"});
    }
    let page = timeline_of("hostile-browser", &install, &upgrade, &["-o", "html"]);
    let Some(found) = measured("hostile", &page, &[]) else { return };
    assert_eq!(found["scripts"], 1, "only the one that measures");
    assert_is_readable(&found);
    let texts = found["texts"].as_array().unwrap();
    assert!(texts.iter().any(|text| text["text"].as_str().unwrap().contains("<script>alert(1)</script>")));
    let long = "z".repeat(253);
    let cut = texts.iter().find(|text| text["title"] == long.as_str()).unwrap();
    assert!(cut["text"].as_str().unwrap().contains("zz…"), "{cut}");
}

#[test]
fn browser_many_hooks_and_what_they_need_stay_apart() {
    let mut objects: Vec<_> = (0..12)
        .map(|number| job(&format!("shop-step-{number:02}"), Some("pre-install,post-upgrade"), "shop-database"))
        .collect();
    objects.push(object("v1", "Secret", "shop-database"));
    let page = timeline_of("twelve-browser", &objects, &objects, &["-o", "html"]);
    let Some(found) = measured("twelve", &page, &[]) else { return };
    assert_is_readable(&found);
    assert_eq!(found["needs"].as_array().unwrap().len(), 24);
    let late = |need: &&Value| need["class"] == "need trouble";
    assert_eq!(found["needs"].as_array().unwrap().iter().filter(late).count(), 12, "on install they come too late");
}

#[test]
fn browser_a_dark_page_is_dark() {
    let page = flip(&["-o", "html"]);
    let Some(light) = measured("light", &page, &["--blink-settings=preferredColorScheme=1"]) else { return };
    let dark = measured("dark", &page, &["--blink-settings=preferredColorScheme=0"]).unwrap();
    assert_eq!((&light["background"], &dark["background"]), (&json!("rgb(250, 250, 248)"), &json!("rgb(20, 23, 26)")));
}

#[test]
fn browser_a_forecast_leads_from_the_release_to_its_finding() {
    let script = r#"
        const texts = (element, selector) => [...element.querySelectorAll(selector)].map((found) => found.textContent.trim());
        const color = (selector) => getComputedStyle(document.querySelector(selector)).color;
        const result = {
          rows: [...document.querySelectorAll("tbody tr")].map((row) => texts(row, "td, th")),
          targets: [...document.querySelectorAll("tbody a")].map((link) => texts(document.querySelector(link.getAttribute("href")), "li p")),
          fits: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
          colors: [color(".outlook.flips"), color("article li p")],
        };
    "#;
    for width in ["--window-size=1400,1000", "--window-size=500,900"] {
        let Some(found) = evaluated("forecast", &page_of_a_flip("browser"), script, &[width]) else { return };
        let row = json!([["flips", "shop", "orders", "<script>alert(1)</script>-0.1.0", "Job orders-migrations"]]);
        assert_eq!(found["rows"], row);
        let told = found["targets"][0].to_string();
        assert!(told.contains("it is gone") && told.contains("every render"), "{told}");
        assert_eq!(found["fits"], json!(true), "{width}");
        assert_ne!(found["colors"][0], found["colors"][1], "only the outlook is red");
    }
}
