//! `stable-hooks completions`, read by the real shells.

#![cfg(unix)]

use std::fs;
use std::io::{Write, stderr};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use crate::cli::{code, stderr as said, stdout};
use crate::helms::{command, folder};

/// What somebody types before the tab, and the last word after it.
const LINES: [(&str, &str); 9] = [
    ("stable-hooks fore", "forecast"),
    ("stable-hooks review --fail", "--fail-on"),
    ("stable-hooks review --fail-on w", "warn"),
    ("stable-hooks review -o sar", "sarif"),
    ("stable-hooks chart --against-va", "--against-values"),
    ("stable-hooks timeline -o ht", "html"),
    ("stable-hooks forecast -A --all", "--all-namespaces"),
    ("stable-hooks fix --compl", "--complete-events"),
    ("stable-hooks release reco", "records.json"),
];

/// Where this machine has the shell, a folder to use it in; elsewhere CI does not accept that.
fn stage(shell: &str) -> Option<(PathBuf, PathBuf)> {
    let shells =
        ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"].map(|folder| Path::new(folder).join(shell));
    let Some(path) = shells.into_iter().find(|path| path.exists()) else {
        assert!(std::env::var_os("CI").is_none(), "there is no {shell}: make shells");
        // Not by a macro, whose words the test runner keeps to itself.
        stderr()
            .write_all(format!("SKIPPED: completions in {shell}, which is not here: make shells\n").as_bytes())
            .unwrap();
        return None;
    };
    let stage = folder(&format!("shells-{shell}"));
    symlink(env!("CARGO_BIN_EXE_stable-hooks"), stage.join("stable-hooks")).unwrap();
    fs::write(stage.join("records.json"), "").unwrap();
    Some((path, stage))
}

/// The lines after the tab, which the shell itself writes down.
fn completed(shell: &Path, stage: &Path, arguments: &[&str], script: &str) -> Vec<String> {
    let program = stage.join("script");
    fs::write(&program, script).unwrap();
    let mut command = command(shell, &[stage, Path::new("/usr/bin"), Path::new("/bin")]);
    command.current_dir(stage).env("HOME", stage).env("TERM", "dumb").args(arguments);
    let output = command.stdin(Stdio::from(fs::File::open(&program).unwrap())).output().unwrap();
    assert_eq!(code(&output), 0, "{}", said(&output));
    let lines = fs::read_to_string(stage.join("lines")).unwrap_or_else(|_| stdout(&output) + &said(&output));
    lines.lines().map(str::to_owned).collect()
}

fn assert_completed(shell: &str, lines: &[String]) {
    for (at, (typed, word)) in LINES.into_iter().enumerate() {
        let line = lines.get(at).unwrap_or_else(|| panic!("{shell}: {typed}: {lines:?}"));
        // Behind an option that wants a value zsh puts the equals sign.
        let found = line.trim_end_matches([' ', '=']).rsplit(' ').next();
        assert_eq!(found, Some(word), "{shell}: {typed}: {lines:?}");
    }
}

#[test]
fn shells_bash_completes_what_comes_after_a_verb() {
    let Some((bash, stage)) = stage("bash") else { return };
    let keys = LINES.iter().map(|(typed, _)| format!("{typed}\t\x07")).collect::<Vec<_>>().concat();
    let script = format!(
        "source <(stable-hooks completions bash)\nbind 'set bell-style none'\n\
         show() {{ printf '%s\\n' \"$READLINE_LINE\" >>lines; READLINE_LINE=; READLINE_POINT=0; }}\n\
         bind -x '\"\\C-g\": show'\n{keys}\n"
    );
    assert_completed("bash", &completed(&bash, &stage, &["--norc", "--noprofile", "-i"], &script));
}

#[test]
fn shells_zsh_completes_what_comes_after_a_verb() {
    let Some((zsh, stage)) = stage("zsh") else { return };
    let keys =
        LINES.iter().map(|(typed, _)| format!("zpty -w -n inner '{typed}'$'\\t\\a'\n")).collect::<Vec<_>>().concat();
    // It edits lines only at a terminal, which its own module makes.
    let script = format!(
        "zmodload zsh/zpty\nzpty inner zsh -f -i\n\
         zpty -w inner 'autoload -U compinit; compinit -D -u; source <(stable-hooks completions zsh)'\n\
         zpty -w inner 'show() {{ print -r -- \"$BUFFER\" >>lines; BUFFER= }}; zle -N show; bindkey \"^G\" show'\n\
         {keys}zpty -w inner exit\nwhile zpty -r inner; do :; done >/dev/null\nexit 0\n"
    );
    assert_completed("zsh", &completed(&zsh, &stage, &["-f"], &script));
}

#[test]
fn shells_fish_completes_what_comes_after_a_verb() {
    let Some((fish, stage)) = stage("fish") else { return };
    let asked =
        LINES.iter().map(|(typed, _)| format!("complete -C '{typed}' | head -n 1\n")).collect::<Vec<_>>().concat();
    let script = format!("stable-hooks completions fish | source\n{asked}");
    let lines = completed(&fish, &stage, &["--no-config"], &script);
    let words: Vec<_> = lines.iter().map(|line| line.split('\t').next().unwrap().to_owned()).collect();
    assert_completed("fish", &words);
}
