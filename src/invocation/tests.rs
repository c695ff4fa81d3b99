use std::convert::Infallible;
use std::ffi::OsString;
use std::time::Duration;

use super::{Invocation, Verb, duration};

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

fn read(line: &str) -> Invocation {
    Invocation::read(words(line)).unwrap()
}

fn line(words: &[OsString]) -> String {
    words.iter().map(|word| word.to_str().unwrap()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_value_is_told_from_an_argument() {
    for given in [
        "upgrade orders ./chart",
        "-n shop upgrade --install orders -f a.yaml ./chart",
        "upgrade -if a.yaml orders ./chart --set upgrade=1",
        "--kube-context upgrade upgrade --timeout 5m orders --wait ./chart",
        "upgrade --set -i orders ./chart",
        "upgrade --debug -- orders ./chart --set",
        "upgrade -fa.yaml -o=json orders --dry-run ./chart",
        "--set a=b upgrade orders ./chart",
        "-io upgrade json orders ./chart",
        "-in upgrade shop orders ./chart --debug",
    ] {
        let invocation = read(given);
        assert_eq!(invocation.verb, Verb::Upgrade, "{given}");
        assert_eq!(invocation.release(), Some("orders"), "{given}");
        assert_eq!(invocation.chart().unwrap(), "./chart", "{given}");
    }
    assert_eq!(Invocation::read(words("list upgrade")), None);
    assert_eq!(Invocation::read(words("--kube-context upgrade list")), None);
    assert_eq!(Invocation::read(words("--version")), None);
    // Helm finds the verb behind `x`, and then takes `x` for an argument.
    assert_eq!(read("--wait x upgrade orders ./chart").release(), Some("x"));
    assert_eq!(Invocation::read(words("--wait upgrade orders ./chart")), None);
    assert_eq!(Invocation::read(words("-outputn shop upgrade orders ./chart")), None);
    assert_eq!(Invocation::read(words("-- upgrade orders ./chart")), None);
    assert_eq!(Invocation::read(words("--set")), None);
    assert_eq!(read("install --generate-name ./chart").release(), None);
    assert_eq!(read("install ./chart -g").chart().unwrap(), "./chart");
    assert_eq!(read("install --server-side orders ./chart").release(), Some("orders"));
    assert_eq!(read("upgrade --server-side true orders ./chart").release(), Some("orders"));
}

#[test]
fn what_changes_nothing_is_not_judged() {
    for given in ["--dry-run", "--dry-run=server", "--dry-run=client", "--dry-run=none --dry-run", "-h", "-ih", "--set"]
    {
        assert!(read(&format!("upgrade orders ./chart {given}")).changes_nothing(), "{given}");
    }
    for given in ["", "--dry-run=none", "--dry-run=false", "--dry-run --dry-run=none", "--description --dry-run"] {
        assert!(!read(&format!("upgrade orders ./chart {given}")).changes_nothing(), "{given}");
    }
}

#[test]
fn how_it_is_done_is_read() {
    let told = |flags: &str| read(&format!("upgrade orders ./chart {flags}")).told();
    let waits = |flags| told(flags).waits;
    assert!(waits("--wait") && waits("--wait=watcher") && waits("--wait=legacy") && waits("--wait=true"));
    assert!(waits("--atomic") && waits("--rollback-on-failure") && waits("--wait=hookOnly --atomic"));
    assert!(!waits("") && !waits("--wait=hookOnly") && !waits("--wait=false") && !waits("--atomic=false"));
    assert!(told("--no-hooks").runs_no_hooks && told("--take-ownership").takes_ownership);
    assert_eq!(told("--timeout 90s").timeout, Duration::from_secs(90));
    assert_eq!(told("").timeout, Duration::from_mins(5));
    assert_eq!(duration("1h1m1.5s"), Some(Duration::from_millis(3_661_500)));
    assert_eq!([duration(""), duration("5"), duration("m"), duration("1x")], [None; 4]);
    let labels = "upgrade orders ./chart -l a=b,c=d --labels=a=e";
    assert_eq!(read(labels).labels().collect::<Vec<_>>(), [("a", "b"), ("c", "d"), ("a", "e")]);
}

#[test]
fn a_rollback_names_the_revision() {
    assert_eq!(read("rollback orders 3 --wait").target(), Some(3));
    assert_eq!(read("rollback orders").target(), None);
    assert_eq!(read("rollback orders 0").target(), None);
    assert_eq!(read("upgrade orders 3").target(), None);
    assert_eq!(read("rollback orders 3").chart(), None);
}

#[test]
fn what_says_which_cluster_is_passed_on_and_nothing_else() {
    let given = "--kube-context prod upgrade orders ./chart -n shop --kube-as-group=a --kube-as-group b --debug --color never \
                 --kube-insecure-skip-tls-verify --set a=b";
    let global = "--kube-context prod -n shop --kube-as-group=a --kube-as-group b --kube-insecure-skip-tls-verify";
    assert_eq!(line(&read(given).global()), global);
}

#[test]
fn what_is_added_stands_where_no_flag_takes_it_for_its_value() {
    let given = [("dry-run", Some("server")), ("output", Some("json"))];
    let with = |text: &str| line(&read(text).with(&given));
    assert_eq!(
        with("-n shop upgrade orders ./chart --dry-run=none -o yaml"),
        "upgrade --dry-run=server --output=json -n shop orders ./chart"
    );
    assert_eq!(
        with("upgrade -io yaml orders ./chart"),
        "upgrade --install --dry-run=server --output=json orders ./chart"
    );
    assert_eq!(
        with("-in upgrade shop orders ./chart"),
        "upgrade --dry-run=server --output=json -in shop orders ./chart"
    );
    let labels = [("labels", Some("a=b"))];
    assert_eq!(line(&read("upgrade -l c=d o c").with(&labels)), "upgrade --labels=a=b -l c=d o c");
}

#[test]
fn a_render_has_the_flags_of_the_install_that_it_knows() {
    let rendered = |text: &str| line(&read(text).as_template(&["include-crds"]));
    assert_eq!(
        rendered("--kube-context install install -n shop orders ./chart --set a=b -o json --wait"),
        "template --include-crds --kube-context install -n shop orders ./chart --set a=b --wait"
    );
    assert_eq!(
        rendered("upgrade -if a.yaml orders ./chart --history-max 3 --reset-values"),
        "template --values=a.yaml --include-crds orders ./chart"
    );
}

#[test]
fn files_are_found_wherever_a_flag_names_them() {
    let mut asked = Vec::new();
    let given =
        "--kubeconfig k upgrade orders ./chart -f a,- --values=b -if- --set-file x=p,y=q --set z=- -fc --ca-file ca";
    let changed = read(given).with_files(|path| {
        asked.push(path.to_owned());
        Ok::<_, Infallible>((path.len() == 1).then(|| format!("/{path}")))
    });
    assert_eq!(asked, ["k", "a", "-", "b", "-", "p", "q", "c", "ca"]);
    assert_eq!(
        line(changed.unwrap().words()),
        "upgrade --kubeconfig /k orders ./chart -f /a,/- --values=/b -if/- --set-file x=/p,y=/q --set z=- -f/c --ca-file ca"
    );
}

/// Whatever the words are, the ones that Helm is asked with are those of a dry run.
#[test]
fn no_words_turn_the_question_into_the_deed() {
    const WORDS: [&str; 22] = [
        "upgrade",
        "orders",
        "./chart",
        "--dry-run",
        "--dry-run=none",
        "--dry-run=server",
        "-o",
        "-ojson",
        "-io",
        "yaml",
        "--set",
        "a=b",
        "-f",
        "-",
        "--wait",
        "--output",
        "-n",
        "--",
        "--description",
        "-i",
        "--output=none",
        "-lo",
    ];
    let mut seed = 1_u64;
    let mut asked = 0;
    for number in 0..40_000 {
        let mut given = words(if number % 2 == 0 { "upgrade" } else { "" });
        for _ in 0..8 {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            given.push(WORDS[usize::try_from(seed >> 33).unwrap() % WORDS.len()].into());
        }
        let Some(invocation) = Invocation::read(given.clone()) else { continue };
        if invocation.changes_nothing() {
            continue;
        }
        asked += 1;
        let question = invocation.with(&[("dry-run", Some("server")), ("output", Some("json"))]);
        let read = Invocation::read(question.clone()).unwrap();
        assert!(read.changes_nothing() && read.value("output") == Some("json"), "{given:?} {question:?}");
        let arguments = |invocation: &Invocation| invocation.arguments().map(OsString::from).collect::<Vec<_>>();
        assert_eq!(arguments(&read), arguments(&invocation), "{question:?}");
        assert_eq!(read.value("set"), invocation.value("set"), "{question:?}");
    }
    assert!(asked > 2_000, "{asked}");
}
