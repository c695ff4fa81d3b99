//! What a fuzzer's bytes choose: a few words that mean something, and sometimes any text.

use arbitrary::Unstructured;
use serde_json::Value;

/// The bytes that are left to choose with; without any the first choice is taken.
pub(crate) struct Choices<'a>(Unstructured<'a>);

const EVENTS: [&str; 16] = [
    "pre-upgrade",
    "pre-install",
    "post-install",
    "post-upgrade",
    "pre-rollback",
    "post-rollback",
    "pre-delete",
    "post-delete",
    "test",
    "test-success",
    "Pre-Upgrade",
    " post-install ",
    "",
    "crd-install",
    "pre-upgrade,pre-install",
    "\u{130}nstall",
];
const POLICIES: [&str; 8] = [
    "before-hook-creation",
    "hook-succeeded",
    "hook-failed",
    "Hook-Failed",
    " before-hook-creation",
    "",
    "never",
    "hook-succeeded,hook-failed",
];
const WEIGHTS: [&str; 10] = ["0", "5", "-5", "+3", "ten", "", "007", " 1", "99999999999999999999", "1.5"];
const ARGO: [&str; 10] =
    ["PreSync", "PostSync", "Sync", "Skip", "SyncFail", "BeforeHookCreation", "HookSucceeded", "HookFailed", "-3", ""];
const LABELS: [&str; 8] = ["migrations", "db-migrate", "web", "immigration", "true", "false", "", "Migrator.2"];
pub(crate) const NAMES: [&str; 7] = ["orders-migrate", "orders", "a", "", "other", "\u{202e}x", "x/y~z"];

impl<'a> Choices<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(Unstructured::new(bytes))
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.0.arbitrary().unwrap_or_default()
    }

    pub(crate) fn number(&mut self) -> u32 {
        self.0.arbitrary().unwrap_or_default()
    }

    pub(crate) fn any<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// Once in so many times.
    pub(crate) fn once_in(&mut self, times: u8) -> bool {
        self.byte() % times == times - 1
    }

    /// Up to so many.
    pub(crate) fn up_to(&mut self, most: u8) -> u8 {
        self.byte() % (most + 1)
    }

    /// Any short text.
    pub(crate) fn text(&mut self) -> String {
        let length = usize::from(self.byte() % 16);
        let bytes = self.0.bytes(length.min(self.0.len())).unwrap_or_default();
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// One of these words or any text.
    pub(crate) fn word(&mut self, of: &[&str]) -> String {
        if self.once_in(8) { self.text() } else { self.any(of).to_owned() }
    }

    pub(crate) fn name(&mut self) -> String {
        self.word(&NAMES)
    }

    pub(crate) fn label(&mut self) -> String {
        self.word(&LABELS)
    }

    pub(crate) fn events(&mut self) -> String {
        let count = self.up_to(2);
        let events: Vec<_> = (0..=count).map(|_| self.word(&EVENTS)).collect();
        events.join(",")
    }

    /// A value for an annotation, most often one of those that the key wants.
    pub(crate) fn annotation(&mut self, key: &str) -> Value {
        if self.once_in(32) {
            return self.json();
        }
        let text = match key {
            "helm.sh/hook" => self.events(),
            "helm.sh/hook-weight" => self.word(&WEIGHTS),
            "helm.sh/hook-delete-policy" => self.word(&POLICIES),
            key if key.starts_with("argocd") => self.word(&ARGO),
            _ => self.name(),
        };
        Value::from(text)
    }

    /// A JSON value of another type than is wanted.
    pub(crate) fn json(&mut self) -> Value {
        match self.byte() % 6 {
            0 => Value::Null,
            1 => Value::from(true),
            2 => Value::from(self.number()),
            3 => Value::from(vec![self.text()]),
            4 => serde_json::json!({ self.text(): self.number() }),
            _ => Value::from(self.text()),
        }
    }
}
