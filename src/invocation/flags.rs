//! Which of Helm's flags take a value: without that a value could be taken for an argument.

use super::verb::Verb;

/// The flags of every command that take a value.
pub(super) const GLOBAL: [&str; 17] = [
    "burst-limit",
    "color",
    "colour",
    "content-cache",
    "kube-apiserver",
    "kube-as-group",
    "kube-as-user",
    "kube-ca-file",
    "kube-context",
    "kube-tls-server-name",
    "kube-token",
    "kubeconfig",
    "namespace",
    "qps",
    "registry-config",
    "repository-cache",
    "repository-config",
];

/// The flag of every command that decides about the cluster, and takes no value.
const INSECURE: &str = "kube-insecure-skip-tls-verify";

/// Those of the three verbs, in one Helm or the other.
pub(super) const OF_VERBS: [&str; 23] = [
    "ca-file",
    "cert-file",
    "description",
    "history-max",
    "key-file",
    "keyring",
    "labels",
    "name-template",
    "output",
    "password",
    "post-renderer",
    "post-renderer-args",
    "repo",
    "server-side",
    "set",
    "set-file",
    "set-json",
    "set-literal",
    "set-string",
    "timeout",
    "username",
    "values",
    "version",
];

/// Those that `helm template` does not know.
pub(super) const NOT_OF_TEMPLATE: [&str; 9] = [
    "cleanup-on-fail",
    "dry-run",
    "hide-secret",
    "history-max",
    "install",
    "output",
    "reset-then-reuse-values",
    "reset-values",
    "reuse-values",
];

const SHORT: [(char, &str); 7] = [
    ('f', "values"),
    ('g', "generate-name"),
    ('h', "help"),
    ('i', "install"),
    ('l', "labels"),
    ('n', "namespace"),
    ('o', "output"),
];

/// Says which cluster, which identity and which namespace. Colours and debug output do not.
pub(super) fn is_global(name: &str) -> bool {
    (GLOBAL.contains(&name) || name == INSECURE) && !matches!(name, "color" | "colour")
}

/// Its value may be the next word.
pub(super) fn takes_a_value(name: &str, verb: Option<Verb>) -> bool {
    // Of `helm install` this one is a switch.
    let is_switch = name == "server-side" && verb == Some(Verb::Install);
    GLOBAL.contains(&name) || (verb.is_some() && OF_VERBS.contains(&name) && !is_switch)
}

/// Before Helm knows the verb it takes the word behind this one for its value: of a flag that it does not know yet, too.
pub(super) fn hides_the_next_word(word: &str) -> bool {
    let is_switch = |name: &str| matches!(name, "debug" | "help" | INSECURE);
    let hides = match word.strip_prefix("--") {
        Some(name) => !is_switch(name),
        // Of several short flags in one word it looks at none.
        None => word.len() == 2 && word != "-h",
    };
    hides && !word.contains('=')
}

pub(super) fn long_name(letter: char) -> Option<&'static str> {
    SHORT.iter().find(|(short, _)| *short == letter).map(|(_, long)| *long)
}
