//! The settings: parsed once, all problems at once, and correct from then on.

mod labels;
mod parsed;
mod reader;
mod releases;
mod table;
mod words;

pub(crate) use labels::{LabelSelector, LabelSelectorRequirement, Operator};
pub use parsed::Settings;
pub use reader::{SettingsError, SettingsErrors};
pub use table::{Form, Obeyed, SETTINGS, Setting};
pub(crate) use words::{BaselineSource, Scope, Strictness, WeightMode};
