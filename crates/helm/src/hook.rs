//! The hook annotations as Helm 3 and 4 parse them (`pkg/release/v1/util/manifest_sorter.go`, `pkg/action/hooks.go`).

use std::fmt;

/// A closed set of words that Helm knows, in Helm's order.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum $name { $($variant),+ }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }

            /// Its place in a set of such words.
            fn bit(self) -> u16 {
                1 << self as u16
            }
        }
    };
}

words! {
    /// An event at which Helm runs a hook.
    Event {
        PreInstall = "pre-install",
        PostInstall = "post-install",
        PreDelete = "pre-delete",
        PostDelete = "post-delete",
        PreUpgrade = "pre-upgrade",
        PostUpgrade = "post-upgrade",
        PreRollback = "pre-rollback",
        PostRollback = "post-rollback",
        Test = "test",
    }
}

words! {
    /// When Helm deletes a hook.
    DeletePolicy {
        BeforeHookCreation = "before-hook-creation",
        HookSucceeded = "hook-succeeded",
        HookFailed = "hook-failed",
    }
}

/// The items of an annotation value, as Helm reads each: trimmed and in lower case.
pub fn items(value: &str) -> impl Iterator<Item = String> + '_ {
    value.split(',').map(|item| lower(item.trim()))
}

/// Go has one lower-case letter for each letter; Rust adds a dot to that of `İ`.
fn lower(item: &str) -> String {
    // All items are ASCII, unless one is made to do harm.
    if item.is_ascii() {
        return item.to_ascii_lowercase();
    }
    item.chars().filter_map(|letter| letter.to_lowercase().next()).collect()
}

/// Words joined the way they stand in an annotation: by commas, without spaces.
fn joined<'a>(f: &mut fmt::Formatter<'_>, words: impl Iterator<Item = &'a str>) -> fmt::Result {
    for (index, word) in words.enumerate() {
        if index > 0 {
            f.write_str(",")?;
        }
        f.write_str(word)?;
    }
    Ok(())
}

impl Event {
    /// One item, as Helm's records spell it.
    pub fn parse(item: &str) -> Option<Self> {
        match item {
            "test-success" => Some(Self::Test),
            item => Self::ALL.iter().copied().find(|event| event.as_str() == item),
        }
    }

    /// Neither installs nor upgrades nor rolls back: such a hook is no migration.
    pub fn is_test_or_delete(self) -> bool {
        matches!(self, Self::Test | Self::PreDelete | Self::PostDelete)
    }
}

/// The events of a hook: at least one, each of them known to Helm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Events(u16);

/// Why Helm renders a document with `helm.sh/hook` to nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotAHook {
    EmptyItem,
    UnknownEvent(String),
}

/// Before the resources and after them, by operation.
const SIDES: [(Event, Event); 3] = [
    (Event::PreInstall, Event::PostInstall),
    (Event::PreUpgrade, Event::PostUpgrade),
    (Event::PreRollback, Event::PostRollback),
];

impl Events {
    /// One empty or unknown item makes Helm drop the whole document.
    pub fn parse(value: &str) -> Result<Self, NotAHook> {
        let mut events = Self(0);
        for item in items(value) {
            match Event::parse(&item) {
                Some(event) => events = events.with(event),
                None if item.is_empty() => return Err(NotAHook::EmptyItem),
                None => return Err(NotAHook::UnknownEvent(item)),
            }
        }
        Ok(events)
    }

    /// `None` for no events at all, which is no hook.
    pub fn of(events: impl IntoIterator<Item = Event>) -> Option<Self> {
        Some(events.into_iter().fold(Self(0), Self::with)).filter(|events| events.0 != 0)
    }

    fn with(self, event: Event) -> Self {
        Self(self.0 | event.bit())
    }

    fn without(self, event: Event) -> Self {
        Self(self.0 & !event.bit())
    }

    /// Puts `to` in the place of `from`, if that is among them.
    #[must_use]
    pub fn moved(self, from: Event, to: Event) -> Self {
        if self.contains(from) { self.without(from).with(to) } else { self }
    }

    /// In Helm's order.
    pub fn iter(self) -> impl Iterator<Item = Event> {
        Event::ALL.iter().copied().filter(move |event| self.contains(*event))
    }

    pub fn contains(self, event: Event) -> bool {
        self.0 & event.bit() != 0
    }

    /// Adds the counterparts on the same side, where only installs or only upgrades are covered.
    #[must_use]
    pub fn completed(self) -> Self {
        use Event::{PostInstall, PostUpgrade, PreInstall, PreUpgrade};
        let mut events = self;
        let installs = self.contains(PreInstall) || self.contains(PostInstall);
        let upgrades = self.contains(PreUpgrade) || self.contains(PostUpgrade);
        if installs != upgrades {
            for (install, upgrade) in [(PreInstall, PreUpgrade), (PostInstall, PostUpgrade)] {
                if self.contains(install) || self.contains(upgrade) {
                    events = events.with(install).with(upgrade);
                }
            }
        }
        events
    }

    /// Completed, and on the same side of the resources for installs and upgrades: Argo CD tells the two not apart, and
    /// would run `post-install,pre-upgrade` before the resources are there, and once more after them.
    #[must_use]
    pub fn alike(self) -> Self {
        use Event::{PostInstall, PostUpgrade, PreInstall, PreUpgrade};
        let events = self.completed();
        let sides = |pre, post| (events.contains(pre), events.contains(post));
        if sides(PreInstall, PostInstall) == sides(PreUpgrade, PostUpgrade) {
            return events;
        }
        events.moved(PostInstall, PreInstall).moved(PostUpgrade, PreUpgrade)
    }

    /// All of it before the release's resources are touched.
    #[must_use]
    pub fn before_resources(self) -> Self {
        SIDES.into_iter().fold(self, |events, (pre, post)| events.moved(post, pre))
    }

    /// Completed, and all of it when the release's resources are there.
    #[must_use]
    pub fn after_resources(self) -> Self {
        SIDES.into_iter().fold(self, |events, (pre, post)| events.moved(pre, post)).completed()
    }
}

impl fmt::Display for Events {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(f, self.iter().map(Event::as_str))
    }
}

/// The delete policies of a hook that an annotation spells out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletePolicies {
    known: u16,
    unknown: bool,
}

impl DeletePolicies {
    /// Helm validates nothing here: an unknown or empty item is kept, means nothing, and switches the default off.
    pub fn parse(value: &str) -> Self {
        let mut policies = Self { known: 0, unknown: false };
        for item in items(value) {
            match DeletePolicy::ALL.iter().find(|policy| policy.as_str() == item) {
                Some(policy) => policies.known |= policy.bit(),
                None => policies.unknown = true,
            }
        }
        policies
    }

    pub fn contains(self, policy: DeletePolicy) -> bool {
        self.known & policy.bit() != 0
    }

    pub fn iter(self) -> impl Iterator<Item = DeletePolicy> {
        DeletePolicy::ALL.iter().copied().filter(move |policy| self.contains(*policy))
    }

    /// Some item is no policy that Helm knows.
    pub fn has_unknown(self) -> bool {
        self.unknown
    }
}

impl Default for DeletePolicies {
    /// Helm's policy without the annotation.
    fn default() -> Self {
        Self { known: DeletePolicy::BeforeHookCreation.bit(), unknown: false }
    }
}

impl fmt::Display for DeletePolicies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        joined(f, self.iter().map(DeletePolicy::as_str))
    }
}

/// The value says exactly these policies, each once and spelled as Helm documents it; their order says nothing.
pub fn spelled(value: &str, policies: DeletePolicies) -> bool {
    let is_written = |policy: DeletePolicy| value.split(',').any(|item| item == policy.as_str());
    value.split(',').count() == policies.iter().count() && policies.iter().all(is_written)
}

/// The weight as Go's `strconv.Atoi` reads it on a 64-bit machine; where this is `None`, Helm takes 0.
pub fn weight(value: &str) -> Option<i64> {
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{DeletePolicies, DeletePolicy, Event, Events, NotAHook, spelled, weight};
    use crate::testing::test;

    fn completed(value: &str) -> String {
        Events::parse(value).unwrap().completed().to_string()
    }

    #[test]
    fn every_event_and_policy_round_trips() {
        for event in Event::ALL {
            assert_eq!(Events::parse(event.as_str()).unwrap().to_string(), event.as_str());
        }
        for policy in DeletePolicy::ALL {
            let policies = DeletePolicies::parse(policy.as_str());
            assert_eq!(policies.to_string(), policy.as_str());
            assert!(!policies.has_unknown());
        }
    }

    #[test]
    fn events_are_trimmed_lowered_deduplicated_and_ordered() {
        let events = Events::parse(" POST-upgrade,pre-install , pre-install,test-success").unwrap();
        assert_eq!(events.to_string(), "pre-install,post-upgrade,test");
        assert_eq!(Events::parse("pre-\u{130}nstall").unwrap().to_string(), "pre-install");
    }

    #[test]
    fn one_bad_item_drops_the_document() {
        assert_eq!(Events::parse(""), Err(NotAHook::EmptyItem));
        assert_eq!(Events::parse("pre-install,"), Err(NotAHook::EmptyItem));
        assert_eq!(Events::parse(" , "), Err(NotAHook::EmptyItem));
        for unknown in ["crd-install", "test-failure", "none", "false", "pre_install"] {
            assert_eq!(Events::parse(unknown), Err(NotAHook::UnknownEvent(unknown.to_owned())));
        }
        assert_eq!(Events::parse("pre-install,Foo"), Err(NotAHook::UnknownEvent("foo".to_owned())));
    }

    #[test]
    fn no_events_are_no_hook() {
        assert_eq!(Events::of([]), None);
        let events = Events::of([Event::PostUpgrade, Event::PreInstall]).unwrap();
        assert_eq!(events.to_string(), "pre-install,post-upgrade");
    }

    #[test]
    fn the_missing_counterpart_is_added_on_the_same_side() {
        assert_eq!(completed("pre-upgrade"), "pre-install,pre-upgrade");
        assert_eq!(completed("post-install"), "post-install,post-upgrade");
        assert_eq!(completed("pre-install,post-install"), "pre-install,post-install,pre-upgrade,post-upgrade");
        assert_eq!(completed("pre-upgrade,pre-rollback"), "pre-install,pre-upgrade,pre-rollback");
    }

    #[test]
    fn what_covers_both_or_neither_stays() {
        for events in ["post-install,pre-upgrade", "pre-install,post-install,pre-upgrade", "pre-rollback", "pre-delete"]
        {
            assert_eq!(completed(events), events);
        }
    }

    #[test]
    fn installs_and_upgrades_alike_are_on_one_side() {
        let alike = |value: &str| Events::parse(value).unwrap().alike().to_string();
        for (events, expected) in [
            ("pre-upgrade", "pre-install,pre-upgrade"),
            ("post-upgrade", "post-install,post-upgrade"),
            ("post-install,pre-upgrade", "pre-install,pre-upgrade"),
            ("pre-install,post-upgrade", "pre-install,pre-upgrade"),
            ("pre-install,post-install,pre-upgrade", "pre-install,pre-upgrade"),
            // Twice is what its author asks for.
            ("pre-upgrade,post-upgrade", "pre-install,post-install,pre-upgrade,post-upgrade"),
            ("pre-rollback", "pre-rollback"),
        ] {
            assert_eq!(alike(events), expected, "{events}");
        }
    }

    #[test]
    fn after_the_resources_nothing_is_too_early() {
        let after = |value: &str| Events::parse(value).unwrap().after_resources().to_string();
        for (events, expected) in [
            ("pre-upgrade", "post-install,post-upgrade"),
            ("post-install,pre-upgrade", "post-install,post-upgrade"),
            ("pre-install,post-install", "post-install,post-upgrade"),
            ("pre-install,pre-rollback", "post-install,post-upgrade,post-rollback"),
            ("test", "test"),
        ] {
            assert_eq!(after(events), expected, "{events}");
        }
    }

    #[test]
    fn unknown_and_empty_delete_policies_switch_the_default_off() {
        for value in ["", "never", "before-hook-creation,", "hook-succeded"] {
            assert!(DeletePolicies::parse(value).has_unknown(), "{value:?}");
        }
        assert!(!DeletePolicies::parse("").contains(DeletePolicy::BeforeHookCreation));
        assert!(DeletePolicies::parse(" Before-Hook-Creation ").contains(DeletePolicy::BeforeHookCreation));
    }

    #[test]
    fn spelling_is_exact_but_order_is_free() {
        let both = DeletePolicies::parse("before-hook-creation,hook-failed");
        assert!(spelled("hook-failed,before-hook-creation", both));
        for value in ["before-hook-creation, hook-failed", "before-hook-creation", "hook-failed,hook-failed", "", "x"] {
            assert!(!spelled(value, both), "{value:?}");
        }
    }

    #[test]
    fn weights_are_what_atoi_takes() {
        for (value, expected) in [("5", 5), ("+5", 5), ("-05", -5), ("0", 0), ("9223372036854775807", i64::MAX)] {
            assert_eq!(weight(value), Some(expected), "{value:?}");
        }
        for value in ["", " 5", "5.0", "0x1", "1_000", "+", "-", "9223372036854775808", "five"] {
            assert_eq!(weight(value), None, "{value:?}");
        }
    }
}
