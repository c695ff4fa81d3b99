//! The files that a command line of Helm's names, which a second run of it would read again.

use super::{Flag, Invocation};

/// Flags whose value is the path of one file.
const OF_ONE_FILE: [&str; 8] = [
    "ca-file",
    "cert-file",
    "key-file",
    "keyring",
    "kube-ca-file",
    "kubeconfig",
    "registry-config",
    "repository-config",
];

impl Invocation {
    /// The same with other paths in the place of some: of values files, of the files of `--set-file`, and of those of the
    /// connection. Each is asked for once, in the order in which they are given; `None` leaves it as it is.
    ///
    /// # Errors
    ///
    /// The first that comes up.
    pub fn with_files<E>(self, mut other: impl FnMut(&str) -> Result<Option<String>, E>) -> Result<Self, E> {
        let mut words = self.words.all.clone();
        for flag in &self.words.flags {
            let Some(value) = flag.value.as_deref() else { continue };
            let Some(changed) = changed(&flag.name, value, &mut other)? else { continue };
            put(&mut words, flag, value, &changed);
        }
        Ok(Self::read(words).unwrap_or(self))
    }
}

/// The value with other paths in it; `None` where all stay.
fn changed<E>(
    name: &str,
    value: &str,
    other: &mut impl FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Option<String>, E> {
    if OF_ONE_FILE.contains(&name) {
        return other(value);
    }
    if !matches!(name, "values" | "set-file") {
        return Ok(None);
    }
    let mut has_changed = false;
    let mut parts = Vec::new();
    for part in value.split(',') {
        let (key, path) = match part.split_once('=') {
            Some((key, path)) if name == "set-file" => (Some(key), path),
            _ => (None, part),
        };
        let changed = other(path)?;
        has_changed |= changed.is_some();
        let path = changed.unwrap_or_else(|| path.to_owned());
        parts.push(key.map_or_else(|| path.clone(), |key| format!("{key}={path}")));
    }
    Ok(has_changed.then(|| parts.join(",")))
}

/// Puts the value of a flag in the place of the one that its last word ends with.
fn put(words: &mut [std::ffi::OsString], flag: &Flag, value: &str, changed: &str) {
    let Some(word) = flag.at.end.checked_sub(1).and_then(|last| words.get_mut(last)) else { return };
    if let Some(before) = word.to_str().and_then(|word| word.strip_suffix(value)) {
        *word = format!("{before}{changed}").into();
    }
}
