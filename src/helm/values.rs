//! The values that charts are rendered with. Each file is read once, so that all renders of a run are given the same,
//! also where it is a pipe.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::input;
use crate::private::write;

/// Helm's flags for single values.
const SINGLE: [&str; 5] = ["--set-json", "--set", "--set-string", "--set-file", "--set-literal"];
const SET_FILE: &str = "--set-file";

/// The values that the user gives, in Helm's own words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Given {
    pub files: Vec<PathBuf>,
    /// Each with its flag.
    pub single: Vec<(&'static str, String)>,
}

/// The fate of a release's values when it is upgraded, as Helm's flags say it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reuse {
    /// No flag: the values of the release are taken where none are given now.
    UnlessGiven,
    ReuseValues,
    ResetValues,
    ResetThenReuseValues,
}

/// The values that every render is given.
#[derive(Debug, Clone, Default)]
pub struct Values {
    files: Vec<ValuesFile>,
    single: Vec<(&'static str, String)>,
}

#[derive(Debug, Clone)]
struct ValuesFile {
    /// The copy; the user's own word where Helm has to fetch it.
    path: PathBuf,
    /// As the user calls it.
    called: String,
    /// It sets nothing.
    is_empty: bool,
}

impl Given {
    /// Takes the values out of further arguments of `helm template`, and gives what is left of them.
    pub fn take_from(&mut self, more: &[OsString]) -> Vec<OsString> {
        let mut left = Vec::new();
        let mut arguments = more.iter();
        while let Some(argument) = arguments.next() {
            let Some((flag, value)) = argument.to_str().and_then(flag_of) else {
                left.push(argument.clone());
                continue;
            };
            let value = value.map(OsString::from).or_else(|| arguments.next().cloned()).unwrap_or_default();
            match flag {
                // Helm takes a list, too.
                Flag::Values => self.files.extend(value.to_string_lossy().split(',').map(PathBuf::from)),
                Flag::Single(flag) => self.single.push((flag, value.to_string_lossy().into_owned())),
            }
        }
        left
    }
}

/// A flag of Helm for values.
enum Flag {
    Values,
    Single(&'static str),
}

/// The flag, and its value where that stands in the same word.
fn flag_of(argument: &str) -> Option<(Flag, Option<&str>)> {
    if let Some(rest) = argument.strip_prefix("-f") {
        return Some((Flag::Values, Some(rest.strip_prefix('=').unwrap_or(rest)).filter(|value| !value.is_empty())));
    }
    let (name, value) = argument.split_once('=').map_or((argument, None), |(name, value)| (name, Some(value)));
    if name == "--values" {
        return Some((Flag::Values, value));
    }
    let flag = SINGLE.into_iter().find(|flag| *flag == name)?;
    Some((Flag::Single(flag), value))
}

impl Values {
    /// Reads all files, in the order in which Helm would, and writes private copies of them into a folder that exists.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or its copy not be written, in words.
    pub fn read(given: &Given, folder: &Path) -> Result<Self, String> {
        let mut values = Self::default();
        let mut copies = Copies { folder, count: 0 };
        for file in &given.files {
            values.files.push(copies.of_values(file)?);
        }
        for (flag, text) in &given.single {
            let text = if *flag == SET_FILE { copies.of_set_file(text)? } else { text.clone() };
            values.single.push((*flag, text));
        }
        Ok(values)
    }

    /// A single file that is not copied: no other program changes it.
    #[must_use]
    pub fn of_file(path: PathBuf) -> Self {
        let called = path.display().to_string();
        Self { files: vec![ValuesFile { path, called, is_empty: false }], single: Vec::new() }
    }

    /// They set nothing: Helm then takes what it has stored with the release.
    #[must_use]
    pub fn set_nothing(&self) -> bool {
        let is_empty = |text: &str| matches!(text.trim(), "" | "{}");
        self.files.iter().all(|file| file.is_empty) && self.single.iter().all(|(_, text)| is_empty(text))
    }

    /// These, and below them those of another file.
    #[must_use]
    pub fn over(mut self, path: PathBuf) -> Self {
        self.files.splice(..0, Self::of_file(path).files);
        self
    }

    /// These, and over them those of another file; single values lie above all files.
    #[must_use]
    pub fn under(mut self, path: PathBuf) -> Self {
        self.files.extend(Self::of_file(path).files);
        self
    }

    /// A value may be null: what that removes depends on what lies below.
    #[must_use]
    pub fn may_hold_null(&self) -> bool {
        let in_file = |file: &ValuesFile| match fs::read(&file.path) {
            Ok(bytes) => input::value(&bytes).map_or(true, |value| !value.is_null() && holds_null(&value)),
            Err(_) => true,
        };
        self.single.iter().any(|(_, text)| text.contains("null")) || self.files.iter().any(in_file)
    }

    /// The same with other files in the place of those for which there are some.
    ///
    /// # Errors
    ///
    /// Those of `other`.
    pub fn with_files<E>(mut self, mut other: impl FnMut(&Path) -> Result<Option<PathBuf>, E>) -> Result<Self, E> {
        for file in &mut self.files {
            if let Some(path) = other(Path::new(&file.called))? {
                file.path = path;
            }
        }
        Ok(self)
    }

    /// As arguments of `helm template`.
    pub fn arguments(&self) -> impl Iterator<Item = OsString> {
        let files = self.files.iter().flat_map(|file| [OsString::from("--values"), file.path.clone().into()]);
        let single = self.single.iter().flat_map(|(flag, text)| [OsString::from(flag), text.into()]);
        files.chain(single)
    }

    /// Helm's words, with the names that the user knows in the place of those of the copies.
    #[must_use]
    pub fn in_the_users_words(&self, said: &[u8]) -> String {
        let said = String::from_utf8_lossy(said).into_owned();
        self.files.iter().fold(said, |said, file| said.replace(&*file.path.to_string_lossy(), &file.called))
    }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(holds_null),
        Value::Object(fields) => fields.values().any(holds_null),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// Where the copies lie, and how many there are.
struct Copies<'a> {
    folder: &'a Path,
    count: usize,
}

impl Copies<'_> {
    fn of_values(&mut self, file: &Path) -> Result<ValuesFile, String> {
        let called = file.display().to_string();
        if is_fetched(&called) {
            return Ok(ValuesFile { path: file.to_owned(), called, is_empty: false });
        }
        let (path, bytes) = self.copy(&called)?;
        // Helm refuses a file that is no YAML in its own words.
        let is_empty = input::value(&bytes).is_ok_and(|value| match value {
            Value::Null => true,
            Value::Object(fields) => fields.is_empty(),
            _ => false,
        });
        Ok(ValuesFile { path, called, is_empty })
    }

    /// `key=path`, and more of that after commas.
    fn of_set_file(&mut self, text: &str) -> Result<String, String> {
        let mut copied = Vec::new();
        for part in unescaped_parts(text) {
            copied.push(match part.split_once('=') {
                Some((key, file)) if !is_fetched(file) && !file.starts_with('{') => {
                    let (path, _) = self.copy(&without_escapes(file))?;
                    format!("{key}={}", with_escapes(&path.to_string_lossy()))
                }
                _ => part,
            });
        }
        Ok(copied.join(","))
    }

    /// A copy of a file, or of standard input where it is called `-`.
    fn copy(&mut self, file: &str) -> Result<(PathBuf, Vec<u8>), String> {
        let fail = |error: io::Error| format!("{file}: {error}");
        let mut bytes = Vec::new();
        if file.trim() == "-" {
            io::stdin().lock().read_to_end(&mut bytes).map_err(fail)?;
        } else {
            bytes = fs::read(file).map_err(fail)?;
        }
        let name = Path::new(file).file_name().unwrap_or_default();
        let path = self.folder.join(format!("values-{}", self.count)).join(name);
        self.count += 1;
        write(&path, &bytes).map_err(fail)?;
        Ok((path, bytes))
    }
}

/// Helm or one of its plugins fetches what has a scheme; each render is taken to get the same.
fn is_fetched(file: &str) -> bool {
    file.contains("://")
}

/// The parts between commas that no backslash escapes.
fn unescaped_parts(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_escaped = false;
    for character in text.chars() {
        if character == ',' && !is_escaped {
            parts.push(String::new());
        } else if let Some(part) = parts.last_mut() {
            part.push(character);
        }
        is_escaped = character == '\\' && !is_escaped;
    }
    parts
}

fn without_escapes(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::new();
    while let Some(character) = characters.next() {
        plain.extend(if character == '\\' { characters.next() } else { Some(character) });
    }
    plain
}

fn with_escapes(text: &str) -> String {
    text.replace('\\', "\\\\").replace(',', "\\,")
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::fs;
    use std::path::PathBuf;

    use super::{Given, Values};

    fn words(values: &Values) -> Vec<String> {
        values.arguments().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn values_are_taken_out_of_further_arguments() {
        let more =
            ["--validate", "-f", "a", "-fb", "-f=c", "--values=d,e", "--set", "e=1", "--set-string=f=2", "--set-x=3"];
        let more: Vec<_> = more.map(OsString::from).into();
        let mut given = Given::default();
        assert_eq!(given.take_from(&more), ["--validate", "--set-x=3"]);
        assert_eq!(given.files, ["a", "b", "c", "d", "e"].map(PathBuf::from));
        assert_eq!(given.single, [("--set", "e=1".to_owned()), ("--set-string", "f=2".to_owned())]);
    }

    #[test]
    fn each_file_is_copied_and_called_as_the_user_calls_it() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["one,.yaml", "two.txt"].map(|name| folder.path().join(name));
        fs::write(&one, "a: 1").unwrap();
        fs::write(&two, "text").unwrap();
        let set = format!("x={},y=https://host/z", one.display().to_string().replace(',', "\\,"));
        let given = Given {
            files: vec![one.clone(), "https://host/values.yaml".into()],
            single: vec![("--set-file", set), ("--set", "b=2".to_owned())],
        };
        let values = Values::read(&given, folder.path()).unwrap();
        fs::write(&one, "a: 2").unwrap();
        let [_, copy, _, url, _, set, _, single] = words(&values).try_into().unwrap();
        assert_eq!(fs::read(&copy).unwrap(), b"a: 1");
        assert_eq!((url.as_str(), single.as_str()), ("https://host/values.yaml", "b=2"));
        let copied = set.strip_prefix("x=").unwrap().strip_suffix(",y=https://host/z").unwrap();
        assert_eq!(fs::read(copied.replace("\\,", ",")).unwrap(), b"a: 1");
        let said = values.in_the_users_words(format!("failed to parse {copy}: no").as_bytes());
        assert_eq!(said, format!("failed to parse {}: no", one.display()));
        let missing = Given { files: vec![folder.path().join("three")], single: Vec::new() };
        assert!(Values::read(&missing, folder.path()).unwrap_err().contains("three: "));
    }

    #[test]
    fn values_that_set_nothing_are_known() {
        let folder = tempfile::tempdir().unwrap();
        for (text, sets_nothing, may_hold_null) in [
            ("", true, false),
            ("# a\n", true, false),
            ("{}", true, false),
            ("a: {b: null}", false, true),
            ("a: 1", false, false),
        ] {
            let file = folder.path().join("values.yaml");
            fs::write(&file, text).unwrap();
            let inner = tempfile::tempdir().unwrap();
            let values = Values::read(&Given { files: vec![file], single: Vec::new() }, inner.path()).unwrap();
            assert_eq!((values.set_nothing(), values.may_hold_null()), (sets_nothing, may_hold_null), "{text}");
        }
        let set = |text: &str| Values { files: Vec::new(), single: vec![("--set", text.to_owned())] };
        assert!(set("").set_nothing() && set("{}").set_nothing() && !set("a=1").set_nothing());
        assert!(set("a=null").may_hold_null() && !set("a=1").may_hold_null());
    }
}
