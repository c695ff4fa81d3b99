//! The wasm that is shipped, which says what the core says that is compiled in, byte for byte.

use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use stable_hooks::engine::{Engine, Native};
use stable_hooks_host::cluster::ClusterView;
use stable_hooks_host::runtime::Policy;

use crate::{record, request, settings};

/// The policy that may ask for everything.
pub const FILE: &str = "annotated-releases-policy.wasm";

/// Far more than needed: a busy machine must not fail a test.
const TIMEOUT: Duration = Duration::from_mins(1);

/// `None` where it is not built.
static GUEST: LazyLock<Option<Policy>> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(FILE);
    path.exists().then(|| Policy::load(&path, Arc::new(ClusterView::default()), TIMEOUT).unwrap())
});

#[must_use]
pub fn is_built() -> bool {
    GUEST.is_some()
}

/// Asks both what the input of another target stands for, which its first byte chooses.
pub fn guest(input: &[u8]) {
    let Some((choice, rest)) = input.split_first() else { return };
    match choice % 4 {
        0 => agree(&request::payload(rest)),
        1 => agree(&record::payload(rest)),
        2 => agree(&settings::payload(rest)),
        _ => agree_on_settings(rest),
    }
}

/// Both judge a payload alike.
pub fn agree(payload: &[u8]) {
    alike(|engine| engine.validate(payload).unwrap());
}

/// Both find the same in settings.
pub fn agree_on_settings(settings: &[u8]) {
    alike(|engine| engine.validate_settings(settings).unwrap());
}

fn alike(ask: impl Fn(&dyn Engine) -> Vec<u8>) {
    let guest = GUEST.as_ref().expect("make annotated-releases-policy.wasm");
    let [native, wasm] = [ask(&Native::default()), ask(guest)];
    assert_eq!(String::from_utf8_lossy(&native), String::from_utf8_lossy(&wasm));
}
