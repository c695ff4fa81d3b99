//! Every way to install without compiling, into an empty folder, from a release on this machine.

#![cfg(unix)]

mod plugins;
mod release;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::cli::{code, run, stderr, stdout};
use crate::engines::root;
use crate::helms::{command, folder, path_with_script};
use crate::packages::yaml;
use release::{VERSION, is_here, platform, release};

/// What install.sh calls, beside a program that downloads.
const TOOLS: [&str; 16] = [
    "sh",
    "awk",
    "cat",
    "cp",
    "gzip",
    "ln",
    "mkdir",
    "mktemp",
    "mv",
    "rm",
    "sha256sum",
    "shasum",
    "tail",
    "tar",
    "uname",
    "perl",
];

/// A folder for the PATH with these programs of the machine and no others.
fn only(name: &str, programs: &[&str]) -> PathBuf {
    let path = folder(name);
    for program in programs {
        if let Some(found) = is_here(program) {
            std::os::unix::fs::symlink(found, path.join(program)).unwrap();
        }
    }
    path
}

fn with_curl(name: &str) -> PathBuf {
    only(&format!("{name}-path"), &[&TOOLS[..], &["curl"]].concat())
}

fn install(releases: &str, to: &Path, path: &[&Path], more: &[&str]) -> Output {
    let mut script = command("/bin/sh", path);
    script.arg(root().join("install.sh")).args(["--to", to.to_str().unwrap()]).args(more);
    script.env("STABLE_HOOKS_RELEASES", releases).output().unwrap()
}

/// The names in a folder, none where it is not there.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn assert_is_the_program(program: &Path) {
    let output = Command::new(program).arg("--version").env_clear().output().unwrap();
    assert_eq!(stdout(&output), format!("stable-hooks {VERSION}\n"), "{}", stderr(&output));
}

#[test]
fn install_with_curl_and_with_wget() {
    let release = release();
    for downloader in ["curl", "wget"] {
        if !is_required(downloader) {
            continue;
        }
        let path = only(&format!("install-{downloader}-path"), &[&TOOLS[..], &[downloader]].concat());
        for more in [&[][..], &["--without-runtime"], &["--version", VERSION], &["--version", "v0.1.0"]] {
            // The folder is not there yet, and its name needs quotes.
            let to = folder(&format!("install-{downloader}")).join("a b");
            let output = install(&release.address, &to, &[&path], more);
            assert_eq!(code(&output), 0, "{downloader} {more:?}: {}", stderr(&output));
            let program = to.join("stable-hooks");
            assert!(stdout(&output).starts_with(&format!("stable-hooks {VERSION}: {}\n", program.display())));
            assert!(stdout(&output).contains("docs/verify.md"), "{}", stdout(&output));
            assert!(stderr(&output).starts_with(&format!("note: {} is not on the PATH", to.display())));
            assert_eq!(names(&to), ["stable-hooks"]);
            assert_is_the_program(&program);
            assert_eq!(stderr(&install(&release.address, &to, &[&path, &to], more)), "");
        }
    }
}

#[test]
fn install_goes_into_the_home_folder_by_default() {
    let home = folder("install-home");
    let mut script = command("/bin/sh", &[&with_curl("install-home")]);
    script.arg(root().join("install.sh")).env("HOME", &home).env("STABLE_HOOKS_RELEASES", &release().address);
    let output = script.output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert_is_the_program(&home.join(".local/bin/stable-hooks"));
}

/// Runs install.sh over an old program, which must stay, alone.
fn assert_fails(name: &str, path: &Path, releases: &str, more: &[&str], message: &str) {
    let to = folder(&format!("install-fails-{name}"));
    fs::write(to.join("stable-hooks"), "old").unwrap();
    let output = install(releases, &to, &[path], more);
    assert_eq!(code(&output), 1, "{name}: {}", stdout(&output));
    assert!(stderr(&output).contains(message), "{name}: {}", stderr(&output));
    assert_eq!(stdout(&output), "", "{name}");
    assert_eq!(names(&to), ["stable-hooks"], "{name}");
    assert_eq!(fs::read_to_string(to.join("stable-hooks")).unwrap(), "old", "{name}");
}

#[test]
fn install_of_bad_downloads_says_what_is_wrong_and_leaves_the_old_program() {
    let release = release();
    let archive = format!("stable-hooks-{}.tar.gz", platform());
    let damaged = release.changed("damaged", &archive, |bytes| {
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
    });
    let no_program = release.changed("no-program", "SHA256SUMS", |sums| {
        let text = String::from_utf8(sums.clone()).unwrap();
        *sums = text.lines().filter(|line| !line.ends_with(&archive)).collect::<Vec<_>>().join("\n").into_bytes();
    });
    let nobody = "http://127.0.0.1:1".to_owned();
    let interrupted = format!("{}/interrupted", release.address);
    for downloader in ["curl", "wget"] {
        if !is_required(downloader) {
            continue;
        }
        let path = only(&format!("install-bad-{downloader}-path"), &[&TOOLS[..], &[downloader]].concat());
        for (name, releases, more, message) in [
            ("no-network", &nobody, &[][..], "install.sh: cannot download http://127.0.0.1:1/v0.1.0/SHA256SUMS: "),
            ("no-version", &release.address, &["--version", "9.9.9"], "/v9.9.9/SHA256SUMS; https://github.com/"),
            ("damaged", &damaged, &[], "; the download is damaged, or somebody changed it. Nothing is installed"),
            ("interrupted", &interrupted, &[], &format!("cannot download {interrupted}/v{VERSION}/{archive}: ")),
            ("no-program", &no_program, &[], &format!("SHA256SUMS of version {VERSION} has no {archive}; ")),
            ("odd-version", &release.address, &["--version", "../1"], "../1 is no version; one is 0.1.0"),
            ("odd-option", &release.address, &["--prefix"], "there is no option --prefix; there are --version"),
            ("no-value", &release.address, &["--version"], "--version wants a value"),
        ] {
            assert_fails(&format!("{name}-{downloader}"), &path, releases, more, message);
        }
    }
}

#[test]
fn install_on_machines_that_it_does_not_know_says_so() {
    let address = &release().address;
    let uname = path_with_script("install-uname", "uname", "case $1 in -s) echo FreeBSD ;; *) echo amd64 ;; esac");
    let tools = only("install-uname-path", &TOOLS);
    for tool in TOOLS.iter().filter(|tool| **tool != "uname") {
        let _ = fs::copy(tools.join(tool), uname.join(tool));
    }
    let message = "no release has a program for FreeBSD on amd64; build it as https://github.com/";
    assert_fails("platform", &uname, address, &[], message);
    assert_fails(
        "no-downloader",
        &only("install-none", &TOOLS),
        address,
        &[],
        "needs curl or wget, and there is neither",
    );
    let no_sums: Vec<_> = TOOLS.into_iter().filter(|tool| !tool.starts_with("sha")).chain(["curl"]).collect();
    assert_fails("no-sums", &only("install-no-sums", &no_sums), address, &[], "needs sha256sum or shasum");
}

#[test]
fn install_into_what_is_no_folder_says_which() {
    let (address, path) = (&release().address, with_curl("install-folder"));
    let stage = folder("install-folder");
    fs::write(stage.join("file"), "").unwrap();
    let below = install(address, &stage.join("file/bin"), &[&path], &[]);
    assert_eq!(code(&below), 1);
    assert!(stderr(&below).contains("file/bin; choose another folder: --to FOLDER"), "{}", stderr(&below));
    fs::create_dir_all(stage.join("taken/stable-hooks")).unwrap();
    let taken = install(address, &stage.join("taken"), &[&path], &[]);
    assert_eq!(code(&taken), 1);
    assert!(stderr(&taken).contains("taken/stable-hooks is a folder"), "{}", stderr(&taken));
    assert_eq!(names(&stage.join("taken")), ["stable-hooks"]);
    assert!(names(&stage.join("taken/stable-hooks")).is_empty());
}

#[test]
fn install_of_a_script_that_ends_too_early_does_nothing() {
    let (path, stage) = (with_curl("install-early"), folder("install-early"));
    let script = fs::read_to_string(root().join("install.sh")).unwrap();
    let lines: Vec<_> = script.split_inclusive('\n').collect();
    for end in 0..lines.len() {
        fs::write(stage.join("install.sh"), lines[..end].concat()).unwrap();
        let mut early = command("/bin/sh", &[&path]);
        early.arg(stage.join("install.sh")).arg("--to").arg(stage.join("bin"));
        let output = early.env("STABLE_HOOKS_RELEASES", &release().address).output().unwrap();
        assert!(!stage.join("bin").exists() && stdout(&output).is_empty(), "after {end} lines: {}", stdout(&output));
    }
}

#[test]
fn install_takes_this_version_by_default() {
    let script = fs::read_to_string(root().join("install.sh")).unwrap();
    assert!(script.contains(&format!("\nversion={VERSION}\n")));
    let plugin = yaml("plugins/post-renderer/plugin.yaml");
    assert_eq!(plugin["version"], VERSION);
}

#[test]
fn install_archives_hold_what_a_package_needs_and_are_the_same_each_time() {
    let release = release();
    for variant in ["", "-without-runtime"] {
        let archive = format!("stable-hooks{variant}-{}.tar.gz", platform());
        let listed = command("tar", &[Path::new("/usr/bin"), Path::new("/bin")])
            .arg("-tzf")
            .arg(release.file(&archive))
            .output()
            .unwrap();
        let listed = stdout(&listed);
        let files: Vec<_> = listed.lines().collect();
        assert!(files.is_sorted(), "{files:?}");
        for file in ["LICENSE", "README.md", "stable-hooks", "man/stable-hooks.1", "man/stable-hooks-forecast.1"] {
            assert!(files.contains(&file), "{file}: {files:?}");
        }
        for file in ["stable-hooks.bash", "_stable-hooks", "stable-hooks.fish", "_stable-hooks.ps1"] {
            assert!(files.contains(&format!("completions/{file}").as_str()), "{file}: {files:?}");
        }
    }
    let again = release::pack("install-again");
    for name in names(&again) {
        assert!(fs::read(again.join(&name)).unwrap() == fs::read(release.file(&name)).unwrap(), "{name}");
    }
}

#[test]
fn install_manual_pages_are_one_for_each_verb_which_itself_is_hidden() {
    let pages = folder("install-man");
    let output = run(&["man", pages.to_str().unwrap()], b"");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let help = stdout(&run(&["--help"], b""));
    let (_, verbs) = help.split_once("Commands:\n").unwrap();
    let verbs = verbs.lines().take_while(|line| !line.is_empty()).filter_map(|line| line.split_whitespace().next());
    let verbs: Vec<_> = verbs.filter(|verb| *verb != "help").collect();
    assert!(verbs.len() > 6 && !verbs.contains(&"man"), "{verbs:?}");
    assert_eq!(names(&pages).len(), verbs.len() + 1, "{:?}", names(&pages));
    for page in verbs.iter().map(|verb| format!("stable-hooks-{verb}.1")).chain(["stable-hooks.1".to_owned()]) {
        let text = fs::read_to_string(pages.join(&page)).unwrap();
        assert!(text.contains(".SH SYNOPSIS") && !text.contains('`'), "{page}:\n{text}");
    }
    for shell in ["bash", "zsh", "fish", "powershell"] {
        let completions = stdout(&run(&["completions", shell], b""));
        let words: Vec<_> = completions.split(|letter: char| !letter.is_alphanumeric()).collect();
        assert!(words.contains(&"forecast") && !words.contains(&"man"), "{shell}:\n{completions}");
    }
    let file = pages.join("stable-hooks.1");
    let failed = run(&["man", file.to_str().unwrap()], b"");
    assert_eq!(code(&failed), 2);
    assert!(stderr(&failed).starts_with(&format!("error: {}: ", file.display())), "{}", stderr(&failed));
}

/// The platforms that a job of the release workflow has a runner for, as the archives name them.
fn platforms(job: &str) -> Vec<String> {
    let workflow = yaml(".github/workflows/release.yml");
    let runners = workflow["jobs"][job]["strategy"]["matrix"]["include"].as_array().unwrap().clone();
    runners.iter().map(|runner| runner["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn install_with_binstall_asks_for_archives_that_are_made() {
    let read = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--offline", "--no-deps", "--format-version", "1"])
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&read.stdout).unwrap();
    let package =
        metadata["packages"].as_array().unwrap().iter().find(|package| package["name"] == "stable-hooks").unwrap();
    let binstall = &package["metadata"]["binstall"];
    // The program stands at the top of the archive.
    assert_eq!(binstall["bin-dir"], "{ bin }{ binary-ext }");
    assert_eq!(binstall["pkg-fmt"], "tgz");
    let repository = package["repository"].as_str().unwrap();
    let mut asked: Vec<_> = Vec::new();
    for (target, found) in binstall["overrides"].as_object().unwrap() {
        let url = found["pkg-url"].as_str().unwrap();
        let url = [("{ repo }", repository), ("{ version }", VERSION), ("{ name }", "stable-hooks")]
            .into_iter()
            .fold(url.to_owned(), |url, (field, value)| url.replace(field, value));
        let archive = url.strip_prefix(&format!("{repository}/releases/download/v{VERSION}/stable-hooks-")).unwrap();
        let platform = archive.strip_suffix(".tar.gz").unwrap();
        let (system, machine) = platform.split_once('-').unwrap();
        assert!(target.starts_with(machine) && target.contains(system), "{target} gets {platform}");
        asked.push(platform.to_owned());
    }
    asked.sort_unstable();
    asked.dedup();
    let mut made = platforms("command-line");
    made.sort_unstable();
    assert_eq!(asked, made);
    assert!(made.contains(&platform()), "{made:?}");
}

#[test]
fn install_as_an_image_takes_an_archive_that_is_made() {
    let recipe = fs::read_to_string(root().join("Containerfile")).unwrap();
    assert!(recipe.contains("/dist/stable-hooks-linux-$(uname -m).tar.gz"), "{recipe}");
    let linux = platforms("command-line").into_iter().filter(|platform| platform.starts_with("linux-"));
    assert_eq!(platforms("image"), linux.collect::<Vec<_>>());
}

#[test]
fn install_scripts_have_no_findings_of_shellcheck() {
    if is_required("shellcheck") {
        let scripts = ["install.sh", "tools/dist", "tools/judge", "tools/plugins", "tools/stable-hooks"];
        let output = command("shellcheck", &[Path::new("/usr/bin")]).args(scripts).output().unwrap();
        assert_eq!(stdout(&output), "");
        assert_eq!(code(&output), 0, "{}", stderr(&output));
    }
}

/// Whether the machine has the program; CI must have it.
fn is_required(program: &str) -> bool {
    let found = is_here(program).is_some();
    assert!(found || std::env::var_os("CI").is_none(), "there is no {program}: make shells");
    if !found {
        release::skipped(&format!("the test with {program}, which is not here: make shells"));
    }
    found
}
