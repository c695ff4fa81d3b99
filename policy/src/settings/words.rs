//! Settings that are one of a few words.

/// An enum whose variants are the words of a setting.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub(crate) enum $name { $($(#[$variant_doc])* $variant),+ }

        impl $name {
            pub(in crate::settings) const WORDS: &[&str] = &[$($word),+];

            pub(in crate::settings) fn parse(word: &str) -> Option<Self> {
                match word {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }

            pub(in crate::settings) fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// The treatment of a weight that Helm can read.
    WeightMode {
        /// It orders siblings, so it stays.
        Keep = "keep",
        /// It becomes the role's weight.
        Enforce = "enforce",
    }
}

words! {
    /// Whose flip is denied.
    Scope {
        JobsAndServiceAccounts = "jobs-and-serviceaccounts",
        /// The others are warned about.
        Selected = "selected",
        /// Every kind.
        All = "all",
    }
}

words! {
    /// The strictest answer that is given: a warning or a denial.
    Strictness {
        Warn = "warn",
        Deny = "deny",
    }
}

words! {
    /// The baseline that a record is compared with.
    BaselineSource {
        /// The live objects that the record names.
        Live = "live",
        /// The record of the release's last good revision, and the live objects.
        Record = "record",
    }
}
