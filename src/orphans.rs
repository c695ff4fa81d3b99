//! Hooks that live in the cluster while no stored record of Helm names them any more.

pub(crate) mod live;
pub(crate) mod named;

use std::fmt;

use serde::Serialize;
use stable_hooks_policy::name::Name;
use stable_hooks_policy::shown::Visible;

use live::Hook;

/// A hook that no record names, and what can be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) hook: Hook,
    pub(crate) state: State,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing that we know of needs it; the command removes it.
    Orphan { command: String },
    /// It is left over, and something runs with it.
    InUse { reason: String },
    /// It cannot be told whether it is left over.
    Unknown { reason: String },
}

/// How many hooks live, and how many of them are left over.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Summary {
    /// All Helm hooks that live where was looked.
    pub(crate) hooks: usize,
    /// Those that a stored record names.
    pub(crate) named: usize,
    /// Those that Argo CD, Flux or kubectl deploys.
    pub(crate) tracked: usize,
    pub(crate) orphans: usize,
    pub(crate) in_use: usize,
    pub(crate) unknown: usize,
}

impl State {
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Orphan { .. } => "orphan",
            Self::InUse { .. } => "in use",
            Self::Unknown { .. } => "unknown",
        }
    }

    /// Why there is no command; empty where there is one.
    pub(crate) fn reason(&self) -> &str {
        match self {
            Self::Orphan { .. } => "",
            Self::InUse { reason } | Self::Unknown { reason } => reason,
        }
    }

    pub(crate) fn command(&self) -> &str {
        match self {
            Self::Orphan { command } => command,
            Self::InUse { .. } | Self::Unknown { .. } => "",
        }
    }

    fn order(&self) -> u8 {
        match self {
            Self::Orphan { .. } => 0,
            Self::InUse { .. } => 1,
            Self::Unknown { .. } => 2,
        }
    }
}

impl Left {
    /// What can be removed first, then by namespace, kind and name.
    pub(crate) fn order(&self) -> impl Ord + use<> {
        let Name { group, kind, namespace, name } = self.hook.name.clone();
        (self.state.order(), namespace, kind, name, group)
    }

    /// The command as people read it, with what goes along; `None` where there is none.
    pub(crate) fn command_shown(&self) -> Option<String> {
        let more = if self.hook.name.kind == "PersistentVolumeClaim" { " # its data goes too" } else { "" };
        match &self.state {
            State::Orphan { command } => Some(format!("{command}{more}")),
            State::InUse { .. } | State::Unknown { .. } => None,
        }
    }

    /// One that nothing needs; in that context of `kubectl`, if it is not the user's own.
    pub(crate) fn orphan(hook: Hook, context: Option<&str>) -> Self {
        let state = match command(&hook, context) {
            Some(command) => State::Orphan { command },
            None => State::Unknown { reason: "its name cannot be written safely on a command line".to_owned() },
        };
        Self { hook, state }
    }
}

/// What removes it; `None` where a terminal would show another name than the shell reads.
fn command(hook: &Hook, context: Option<&str>) -> Option<String> {
    let name = &hook.name;
    let mut kind = name.kind.to_lowercase();
    if !name.group.is_empty() {
        kind.extend([".", &name.group]);
    }
    // With the kind before it no name is taken for an option.
    let mut words = vec!["kubectl".to_owned(), "delete".to_owned(), format!("{kind}/{}", name.name)];
    if !name.namespace.is_empty() {
        words.extend(["-n".to_owned(), name.namespace.clone()]);
    }
    words.extend(context.map(|context| format!("--context={context}")));
    let is_as_shown = words.iter().all(|word| Visible(word).to_string() == *word);
    is_as_shown.then(|| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
}

/// A word as a POSIX shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:=@".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', r"'\''")) }
}

impl Summary {
    /// Counts what is left, of so many hooks that live.
    pub(crate) fn of(left: &[Left], hooks: usize, tracked: usize) -> Self {
        let mut summary = Self { hooks, tracked, ..Self::default() };
        for left in left {
            match left.state {
                State::Orphan { .. } => summary.orphans += 1,
                State::InUse { .. } => summary.in_use += 1,
                State::Unknown { .. } => summary.unknown += 1,
            }
        }
        summary.named = hooks.saturating_sub(tracked).saturating_sub(left.len());
        summary
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { hooks, named, tracked, orphans, in_use, unknown } = self;
        let plural = if *hooks == 1 { "" } else { "s" };
        write!(f, "{hooks} hook{plural}: {orphans} orphaned, {in_use} orphaned and in use, {unknown} unknown, ")?;
        write!(f, "{named} named by a record, {tracked} deployed by other tools")
    }
}

#[cfg(test)]
mod tests {
    use super::live::Hook;
    use super::{Left, Name, State, command};

    fn hook(group: &str, kind: &str, namespace: &str, name: &str) -> Hook {
        let [group, kind, namespace, name] = [group, kind, namespace, name].map(str::to_owned);
        Hook { name: Name { group, kind, namespace, name }, ..Hook::default() }
    }

    fn command_for(group: &str, kind: &str, namespace: &str, name: &str) -> Option<String> {
        command(&hook(group, kind, namespace, name), None)
    }

    #[test]
    fn a_command_names_one_object_whatever_it_is_called() {
        let expected = "kubectl delete job.batch/orders-migrate -n shop";
        assert_eq!(command_for("batch", "Job", "shop", "orders-migrate").as_deref(), Some(expected));
        assert_eq!(
            command_for("", "ConfigMap", "shop", "a.b").as_deref(),
            Some("kubectl delete configmap/a.b -n shop")
        );
        let role = |name| command_for("rbac.authorization.k8s.io", "ClusterRole", "", name);
        let kind = "clusterrole.rbac.authorization.k8s.io";
        assert_eq!(role("--all").unwrap(), format!("kubectl delete {kind}/--all"));
        assert_eq!(role("system:a").unwrap(), format!("kubectl delete {kind}/system:a"));
        assert_eq!(role("a; rm -rf ~").unwrap(), format!("kubectl delete '{kind}/a; rm -rf ~'"));
        assert_eq!(role("it's $(x)").unwrap(), format!(r"kubectl delete '{kind}/it'\''s $(x)'"));
        assert!(role(&"a".repeat(253)).is_some());
        let in_context = command(&hook("", "Pod", "shop", "a"), Some("prod eu")).unwrap();
        assert_eq!(in_context, "kubectl delete pod/a -n shop '--context=prod eu'");
    }

    #[test]
    fn a_name_that_forges_a_terminal_gets_no_command() {
        for name in ["a\nb", "a\u{1b}[2K", "a\u{202e}b"] {
            let left = Left::orphan(hook("rbac.authorization.k8s.io", "ClusterRole", "", name), None);
            assert!(matches!(left.state, State::Unknown { .. }), "{name:?}");
        }
    }
}
