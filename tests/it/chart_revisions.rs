//! `stable-hooks chart --against-ref`: a chart against itself at a git revision, the work tree left alone.

#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::chart_helm::pack;
use crate::chart_many::{chart, verdicts, with_each, write};
use crate::cli::{code, stderr, stdout};
use crate::helms::{folder, stable_hooks};

pub(crate) fn git(repository: &Path, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.arg("-C").arg(repository).args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "init.defaultBranch=main"]);
    let output = git.args(arguments).env_remove("GIT_DIR").output().unwrap();
    assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
    stdout(&output)
}

/// A repository whose chart `charts/orders` was a plain Job at the tag `old`, and is a hook now.
fn repository(name: &str) -> PathBuf {
    let repository = folder(name);
    let orders = chart(&repository.join("charts/orders"), "flip");
    write(&orders.join("values.yaml"), "hook: never\n");
    git(&repository, &["init", "-q"]);
    commit(&repository, "old");
    write(&orders.join("values.yaml"), "hook: always\n");
    repository
}

pub(crate) fn commit(repository: &Path, tag: &str) {
    git(repository, &["add", "-A"]);
    git(repository, &["commit", "-q", "-m", tag]);
    git(repository, &["tag", tag]);
}

fn against(path: &Path, chart: &Path, revision: &str) -> Output {
    let chart = chart.to_str().unwrap();
    // git is where this machine has it.
    stable_hooks(
        &[path, Path::new("/usr/bin"), Path::new("/bin")],
        &["chart", chart, "--against-ref", revision, "-o", "json"],
    )
}

fn only_verdict(output: &Output) -> String {
    let verdicts = verdicts(output);
    assert_eq!(verdicts.len(), 1, "{}", stderr(output));
    verdicts[0].1.clone()
}

#[test]
fn chart_revisions_are_judged_and_the_work_tree_is_left_alone() {
    let repository = repository("revisions");
    let orders = repository.join("charts/orders");
    // Something is staged, something is not.
    write(&repository.join("staged"), "1");
    git(&repository, &["add", "staged"]);
    let state = || (git(&repository, &["status", "--porcelain=v2"]), git(&repository, &["ls-files", "-s"]));
    let before = state();
    with_each("revisions-path", |path| {
        let old = against(path, &orders, "old");
        assert_eq!((only_verdict(&old), code(&old)), ("deny".to_owned(), 1), "{}", stderr(&old));
        let human =
            stable_hooks(&[path, Path::new("/usr/bin")], &["chart", orders.to_str().unwrap(), "--against-ref", "old"]);
        assert!(
            stdout(&human).replace("\n    ", " ").contains("/orders at old and the upgrade over it"),
            "{}",
            stdout(&human)
        );
        assert_eq!(state(), before);
    });
    commit(&repository, "new");
    with_each("revisions-path", |path| {
        let new = against(path, &orders, "new");
        assert_eq!((only_verdict(&new), stderr(&new)), ("allow".to_owned(), String::new()));
    });
}

#[test]
fn chart_revisions_inside_of_a_git_hook_ask_the_chart_s_own_repository() {
    let repository = repository("revisions-hook");
    with_each("revisions-hook-path", |path| {
        let mut command = crate::helms::command(env!("CARGO_BIN_EXE_stable-hooks"), &[path, Path::new("/usr/bin")]);
        command.args(["chart", "charts/orders", "--against-ref", "old", "-o", "json"]).current_dir(&repository);
        command.env("GIT_DIR", ".git").env("GIT_INDEX_FILE", ".git/index").env("GIT_PREFIX", "");
        let output = command.output().unwrap();
        assert_eq!(only_verdict(&output), "deny", "{}", stderr(&output));
    });
}

#[test]
fn chart_revisions_that_are_not_there_are_said() {
    let repository = repository("revisions-missing");
    let orders = repository.join("charts/orders");
    let new = chart(&repository.join("charts/new"), "flip");
    commit(&repository, "new");
    let shallow = folder("revisions-shallow").join("clone");
    let url = format!("file://{}", repository.display());
    git(&repository, &["clone", "-q", "--depth", "1", "--no-tags", &url, shallow.to_str().unwrap()]);
    let outside = chart(&std::env::temp_dir().join(format!("stable-hooks-outside-{}", std::process::id())), "flip");
    let archive = folder("revisions-archive").join("orders.tgz");
    pack(&orders, "orders", &archive);
    with_each("revisions-missing-path", |path| {
        for (chart, revision, told) in [
            (&orders, "nowhere", "git does not know the revision `nowhere`: "),
            (&orders, "no such", "git does not know the revision `no such`: "),
            (&shallow.join("charts/orders"), "old", "and this is a shallow clone, which lacks older ones: fetch it"),
            (&outside, "old", "git finds no work tree around `"),
            (&archive, "old", "--against-ref goes with a chart's folder in a git repository"),
        ] {
            let output = against(path, chart, revision);
            assert_eq!(code(&output), 2, "{revision}: {}", stderr(&output));
            assert!(stderr(&output).contains(told), "{told}: {}", stderr(&output));
        }
        let output = against(path, &new, "old");
        assert_eq!(only_verdict(&output), "deny", "a new chart is judged as one");
        let told = format!("note: {} was not there yet at old: it is judged as a new chart\n", new.display());
        assert_eq!(stderr(&output), told);
    });
    fs::remove_dir_all(outside).unwrap();
}

#[test]
fn chart_revisions_take_dependencies_that_are_not_in_git_from_the_work_tree() {
    let repository = repository("revisions-dependencies");
    let orders = repository.join("charts/orders");
    write(&repository.join(".gitignore"), "*.tgz\n");
    let metadata = |version: &str| {
        format!(
            "apiVersion: v2\nname: orders\nversion: {version}\ndependencies:\n\
             - {{name: sub, version: 0.1.0, repository: 'https://127.0.0.1:9'}}\n"
        )
    };
    write(&orders.join("Chart.yaml"), &metadata("0.1.0"));
    write(&orders.join("Chart.lock"), "digest: one\n");
    write(&orders.join("values.yaml"), "hook: never\n");
    commit(&repository, "with-lock");
    fs::create_dir_all(orders.join("charts")).unwrap();
    let sub = folder("revisions-sub");
    write(&sub.join("Chart.yaml"), "apiVersion: v2\nname: sub\nversion: 0.1.0\n");
    pack(&sub, "sub", &orders.join("charts/sub-0.1.0.tgz"));
    write(&orders.join("Chart.yaml"), &metadata("0.2.0"));
    write(&orders.join("values.yaml"), "hook: always\n");
    with_each("revisions-dependencies-path", |path| {
        let output = against(path, &orders, "with-lock");
        assert_eq!(only_verdict(&output), "deny", "{}", stderr(&output));
        // Another lock: what was needed then is not what lies here.
        write(&orders.join("Chart.lock"), "digest: two\n");
        let output = against(path, &orders, "with-lock");
        assert_eq!(code(&output), 2);
        let said = stderr(&output);
        assert!(said.contains("what it depended on at with-lock is neither in git nor in the work tree: `helm dependency build` fails: "), "{said}");
        write(&orders.join("Chart.lock"), "digest: one\n");
    });
}

#[test]
fn chart_revisions_build_dependencies_that_lie_beside_the_chart() {
    let repository = repository("revisions-beside");
    let orders = repository.join("charts/orders");
    let common = chart(&repository.join("charts/common"), "flip");
    write(&common.join("values.yaml"), "hook: never\n");
    let metadata = "apiVersion: v2\nname: orders\nversion: 0.1.0\ndependencies:\n\
                    - {name: common, version: 0.1.0, repository: 'file://../common'}\n";
    write(&orders.join("Chart.yaml"), metadata);
    write(&orders.join("values.yaml"), "hook: always\n");
    write(&repository.join(".gitignore"), "*.tgz\n");
    // One name for both Jobs would be another matter.
    let job = common.join("templates/migrations.yaml");
    let text = fs::read_to_string(&job).unwrap();
    write(&job, &text.replace("-migrations", "-common"));
    commit(&repository, "before");
    write(&common.join("values.yaml"), "hook: always\n");
    with_each("revisions-beside-path", |path| {
        let built = Command::new(path.join("helm")).args(["dependency", "update"]).arg(&orders).output().unwrap();
        assert_eq!(code(&built), 0, "{}", stderr(&built));
        // The library of the work tree is a hook always; at the revision it never was one.
        let output = against(path, &orders, "before");
        assert_eq!(only_verdict(&output), "deny", "{}", stderr(&output));
        assert!(stdout(&output).contains("release-name-common"), "{}", stdout(&output));
    });
}

#[test]
fn chart_revisions_are_rendered_with_their_own_values_files() {
    let repository = folder("revisions-values");
    let orders = chart(&repository.join("charts/orders"), "flip");
    let files = ["charts/orders/ci/prod-values.yaml", "prod.yaml"].map(|file| repository.join(file));
    let set = |hook: &str| files.iter().for_each(|file| write(file, &format!("hook: {hook}\n")));
    set("never");
    git(&repository, &["init", "-q"]);
    commit(&repository, "old");
    set("always");
    write(&orders.join("values.yaml"), "hook: never\n");
    write(&repository.join("new.yaml"), "hook: always\n");
    let source = orders.to_str().unwrap().to_owned();
    with_each("revisions-values-path", |path| {
        let judge = |more: &[&str]| {
            let arguments = [&["chart", &source, "--against-ref", "old", "-o", "json"], more].concat();
            let output = stable_hooks(&[path, Path::new("/usr/bin")], &arguments);
            verdicts(&output).into_iter().map(|(_, verdict)| verdict).collect::<Vec<_>>()
        };
        // Its own values flip on an upgrade at the revision, and never now; those of ci/ turn the Job into a hook.
        assert_eq!(judge(&[]), ["allow", "deny"]);
        let [_, prod] = files.each_ref().map(|file| file.to_str().unwrap());
        assert_eq!(judge(&["-f", prod]), ["deny"]);
        // A file that was not there is as it is now.
        let new = repository.join("new.yaml");
        assert_eq!(judge(&["-f", new.to_str().unwrap()]), ["allow"]);
        // Given ones are the only ones.
        assert_eq!(judge(&["-f", prod, "--against-values", new.to_str().unwrap()]), ["allow"]);
    });
}

#[test]
fn chart_revisions_where_a_link_or_a_submodule_was_are_not_guessed() {
    let repository = repository("revisions-links");
    let moved = repository.join("charts/moved");
    std::os::unix::fs::symlink("orders", &moved).unwrap();
    commit(&repository, "linked");
    fs::remove_file(&moved).unwrap();
    chart(&moved, "flip");
    let now = repository.join("charts/now");
    std::os::unix::fs::symlink("orders", &now).unwrap();
    with_each("revisions-links-path", |path| {
        let output = against(path, &moved, "linked");
        let told = "`charts/moved` is a link or a submodule at `linked`, which cannot be followed";
        assert!(code(&output) == 2 && stderr(&output).contains(told), "{}", stderr(&output));
        let output = against(path, &now, "old");
        assert_eq!(only_verdict(&output), "deny");
        assert!(stderr(&output).contains("is a link: what it leads to now is compared with"), "{}", stderr(&output));
    });
}

#[test]
fn chart_revisions_of_folders_with_strange_names_are_read() {
    use std::os::unix::ffi::OsStrExt as _;

    let repository = folder("revisions-names");
    git(&repository, &["init", "-q"]);
    let names: [&[u8]; 3] = [b":odd/x", b"a b\nc", b"lat\xe9"];
    let charts = names.map(|name| {
        // Helm wants a name of its own for a chart.
        let orders = chart(&repository.join(std::ffi::OsStr::from_bytes(name)).join("orders"), "flip");
        write(&orders.join("values.yaml"), "hook: never\n");
        orders
    });
    commit(&repository, "old");
    with_each("revisions-names-path", |path| {
        for chart in &charts {
            write(&chart.join("values.yaml"), "hook: always\n");
            let mut command = crate::helms::command(env!("CARGO_BIN_EXE_stable-hooks"), &[path, Path::new("/usr/bin")]);
            let output = command.arg("chart").arg(chart).args(["--against-ref", "old", "-o", "json"]).output().unwrap();
            assert_eq!(only_verdict(&output), "deny", "{}: {}", chart.display(), stderr(&output));
        }
    });
}
