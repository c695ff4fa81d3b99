//! What is generated from the code is as the code says; `make docs` writes it.

use std::collections::BTreeSet;
use std::fs;

use serde_json::Value;
use stable_hooks_policy::RuleId;
use stable_hooks_policy::docs::{Policy, page, questions, rules_table, settings_table};

use crate::cli::{run, stdout};
use crate::engines::{files, relative, root};
use crate::packages::yaml;
use crate::timeline::flip;

#[test]
fn docs_the_tables_are_current() {
    for (file, name, table) in [
        ("docs/rules.md", "rules", rules_table()),
        ("docs/settings.md", "settings", settings_table()),
        ("policy/usage.md", "settings", settings_table()),
    ] {
        assert_block(file, name, &table);
    }
}

#[test]
fn docs_every_rule_has_its_page_on_the_web() {
    for id in RuleId::ALL {
        assert_current(&format!("docs/rules/{id}.md"), &page(*id));
    }
    let pages = files("docs/rules", "md");
    assert_eq!(pages.len(), RuleId::ALL.len(), "{pages:?}");
}

#[test]
fn docs_the_forms_ask_for_what_each_policy_obeys() {
    assert_current("policy/questions-ui.yml", &questions(Policy::Objects));
    assert_current("policy/releases/questions-ui.yml", &questions(Policy::Releases));
}

/// The block between the two marks in a file is as the code says.
pub(crate) fn assert_block(file: &str, name: &str, block: &str) {
    let text = fs::read_to_string(root().join(file)).unwrap();
    assert_current(file, &with_block(&text, name, block));
}

/// The file is as the code says; with BLESS it is made so.
fn assert_current(file: &str, expected: &str) {
    let path = root().join(file);
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, expected).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == expected, "{file} is not what the code says: make docs");
}

/// The text with the block between its two marks replaced.
fn with_block(text: &str, name: &str, block: &str) -> String {
    let (begin, end) = (format!("<!-- begin {name} -->\n"), format!("<!-- end {name} -->"));
    let (before, rest) = text.split_once(&begin).expect("the begin mark");
    let (_, after) = rest.split_once(&end).expect("the end mark");
    format!("{before}{begin}\n{block}\n{end}{after}")
}

/// All that can say something, and the suites that quote Kubewarden.
fn sources() -> String {
    let folders = [("crates", "rs"), ("policy/src", "rs"), ("src", "rs"), ("e2e", "bats")];
    let paths = folders.into_iter().flat_map(|(folder, ending)| files(folder, ending));
    paths.map(|path| fs::read_to_string(path).unwrap()).collect()
}

#[test]
fn docs_troubleshooting_explains_messages_that_there_are() {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let (sources, mut explained) = (sources(), 0);
    for heading in page.lines().filter_map(|line| line.strip_prefix("### `")) {
        let message = heading.strip_suffix('`').unwrap();
        assert!(sources.contains(message), "nothing says {message:?}");
        explained += 1;
    }
    assert!(explained > 10, "{explained} messages");
}

#[test]
fn docs_troubleshooting_has_each_rule_once_in_its_order() {
    let page = fs::read_to_string(root().join("docs/troubleshooting.md")).unwrap();
    let (_, table) = page.split_once("\n## Each rule\n").unwrap();
    let rows: Vec<_> = table.lines().filter(|line| line.starts_with("| [`")).collect();
    let starts: Vec<_> = RuleId::ALL.iter().map(|rule| format!("| [`{rule}`](rules/{rule}.md) | ")).collect();
    assert_eq!(rows.len(), starts.len(), "{rows:#?}");
    for (row, start) in rows.iter().zip(starts) {
        assert!(row.starts_with(&start) && row.matches(" | ").count() == 3, "{row} does not begin with {start}");
    }
}

#[test]
fn docs_links_lead_somewhere_and_scenarios_are_called_so() {
    let pages = ["README.md", "CONTRIBUTING.md", "SECURITY.md"].map(|name| root().join(name));
    for page in files("docs", "md").into_iter().chain(pages) {
        let text = fs::read_to_string(&page).unwrap();
        let targets = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        for target in targets.filter(|target| !target.starts_with("http")) {
            let path = page.parent().unwrap().join(target.split('#').next().unwrap());
            assert!(path.exists(), "{}: {target}", relative(&page));
        }
    }
    let proof =
        ["proof", "proof-argocd"].map(|page| fs::read_to_string(root().join(format!("docs/{page}.md"))).unwrap());
    let hooks = fs::read_to_string(root().join("docs/hooks.md")).unwrap();
    let hooks = hooks.split_whitespace().collect::<Vec<_>>().join(" ");
    let named: Vec<_> = hooks.split("seen: \"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
    for scenario in &named {
        let heading = format!("### {scenario}\n");
        assert!(proof.iter().any(|page| page.contains(&heading)), "no scenario is called {scenario:?}");
    }
    assert!(named.len() > 5, "{named:?}");
}

#[test]
fn docs_the_changelog_knows_the_version() {
    let changelog = fs::read_to_string(root().join("CHANGELOG.md")).unwrap();
    let heading = format!("## [{}] - ", env!("CARGO_PKG_VERSION"));
    let [objects, releases] =
        ["policy", "policy/releases"].map(|folder| yaml(&format!("{folder}/artifacthub-pkg.yml")));
    let created = objects["createdAt"].as_str().unwrap().split('T').next().unwrap();
    assert!(changelog.contains(&format!("{heading}{created}\n")), "{heading}{created}");
    assert_eq!(releases["createdAt"], objects["createdAt"]);
}

#[test]
fn docs_the_commands_name_this_version() {
    let marks = [
        "?ref=v",
        "policies/stable-hooks:v",
        "policies/stable-hooks-releases:v",
        "@refs/tags/v",
        "/blob/v",
        "raw.githubusercontent.com/stable-hooks/stable-hooks/v",
    ];
    let pages = ["README.md", "policy/README.md", "policy/releases/README.md"].map(|name| root().join(name));
    let mut named = 0;
    for page in files("docs", "md").into_iter().chain(pages) {
        let text = fs::read_to_string(&page).unwrap();
        for rest in marks.iter().flat_map(|mark| text.split(mark).skip(1)) {
            let version = rest.split(|sign: char| sign != '.' && !sign.is_ascii_digit()).next().unwrap();
            assert_eq!(version, env!("CARGO_PKG_VERSION"), "{}", relative(&page));
            named += 1;
        }
    }
    assert!(named > 5, "{named} commands");
}

#[test]
fn docs_the_json_on_its_page_is_what_the_program_writes() {
    let page = fs::read_to_string(root().join("docs/output.md")).unwrap();
    let (_, rest) = page.split_once("```sh\nstable-hooks ").unwrap();
    let arguments: Vec<_> = rest.lines().next().unwrap().split(' ').collect();
    let written = stdout(&run(&arguments, b""));
    assert_block("docs/output.md", "example", &format!("```json\n{written}```\n"));
    assert_json_is_explained(OF_FINDINGS, &written);
}

#[test]
fn docs_every_verb_s_json_is_explained() {
    assert_json_is_explained("`timeline`", &stdout(&flip(&["-o", "json"])));
    assert_json_is_explained("`explain`", &stdout(&run(&["explain", "-o", "json"], b"")));
}

/// The section that explains findings and the summary, as other sections say.
pub(crate) const OF_FINDINGS: &str = "`review`, `chart` and `release`";

/// The page says of every key of a document what it means, in the section of its verb.
pub(crate) fn assert_json_is_explained(heading: &str, document: &str) {
    let page = fs::read_to_string(root().join("docs/output.md")).unwrap();
    let tables = [OF_FINDINGS, heading].map(|heading| {
        let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
        let (_, table) = section.split_once("```text\n").unwrap();
        table.split("```").next().unwrap()
    });
    let words: BTreeSet<_> =
        tables.iter().flat_map(|table| table.split(|letter: char| !letter.is_alphanumeric())).collect();
    let mut values: Vec<Value> = vec![serde_json::from_str(document).unwrap()];
    while let Some(value) = values.pop() {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields {
                    assert!(words.contains(&*key), "{heading}: {key}");
                    // Operations of a JSON patch are explained elsewhere.
                    if key != "patch" {
                        values.push(value);
                    }
                }
            }
            Value::Array(items) => values.extend(items),
            _ => {}
        }
    }
}

#[test]
fn docs_the_command_line_s_page_has_each_verb_and_its_options_and_no_others() {
    let page = fs::read_to_string(root().join("docs/cli.md")).unwrap();
    let help = |arguments: &[&str]| stdout(&run(arguments, b""));
    let verbs = help(&["--help"]);
    let (_, verbs) = verbs.split_once("Commands:\n").unwrap();
    let verbs = verbs.lines().map_while(|line| line.strip_prefix("  ")?.split(' ').next());
    let mut known = BTreeSet::from(["--help".to_owned()]);
    for verb in verbs.filter(|verb| *verb != "help") {
        assert!(page.contains(&format!("\n## {verb}\n")), "{verb}");
        for line in help(&["help", verb]).lines().map(str::trim_start).filter(|line| line.starts_with('-')) {
            let options = line.split([' ', ',']).filter(|word| word.starts_with("--"));
            known.extend(options.map(str::to_owned));
        }
    }
    let named = page.split("`--").skip(1).map(|rest| rest.split([' ', '`']).next().unwrap());
    let mut named: BTreeSet<_> = named.map(|option| format!("--{option}")).collect();
    named.insert("--help".to_owned());
    assert_eq!(named, known);
}

#[test]
fn docs_the_picture_of_a_flip_is_current() {
    assert_current("docs/flip.svg", &stdout(&flip(&["-o", "svg"])));
}

#[test]
fn docs_the_picture_of_a_first_sync_that_never_ends_is_current() {
    let text = root().join("tests/timeline/first-sync/first.yaml").display().to_string();
    let arguments = ["timeline", "--argocd", "--install", &text, "--upgrade", &text, "-n", "shop", "--name", "orders"];
    assert_current("docs/first-sync.svg", &stdout(&run(&[&arguments[..], &["-o", "svg"]].concat(), b"")));
}

/// Programs that know no variables, librsvg for one, take the value before.
#[test]
fn docs_the_pictures_can_be_read_without_css_variables() {
    let picture = fs::read_to_string(root().join("docs/flip.svg")).unwrap();
    let (_, style) = picture.split_once("<style>").unwrap();
    let (tokens, rules) = style.split_once("</style>").unwrap().0.split_once(".picture").unwrap();
    let light = tokens.split("@media").next().unwrap();
    let value = |name: &str| {
        let (_, rest) = light.split_once(&format!("--{name}: ")).unwrap_or_else(|| panic!("no {name}"));
        match name {
            "sans" => "sans-serif",
            "mono" => "monospace",
            _ => rest.split(';').next().unwrap(),
        }
    };
    let mut variables = 0;
    for rule in rules.split('}') {
        let declarations: Vec<_> = rule.split(['{', ';']).map(str::trim).collect();
        for pair in declarations.windows(2).filter(|pair| pair[1].contains("var(")) {
            let (before, rest) = pair[1].split_once("var(--").unwrap();
            let (name, after) = rest.split_once(')').unwrap();
            assert_eq!(pair[0], format!("{before}{}{after}", value(name)), "in{rule}");
            variables += 1;
        }
    }
    assert!(variables > 20, "{variables}");
    assert!(!picture.replace(style, "").contains("var("), "outside of the style");
}
