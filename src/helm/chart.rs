//! A chart's files: its templates, and a private copy that renders as a later revision of a release.

mod archive;
mod printed;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::ignore::{self, Rules};
use crate::origin::Templates;
use archive::{MOST_BYTES, Pack, pack, unpack};
use printed::PRINTER;
pub use printed::take_values;

/// How late it is in the copy: no upgrade happens in the same second as the install.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// A minute later: names made of the day or the year stay the same.
    AMinuteLater,
    /// A year later: every name with a time in it is another one.
    AYearLater,
}

impl Clock {
    /// Another time.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::AMinuteLater => Self::AYearLater,
            Self::AYearLater => Self::AMinuteLater,
        }
    }

    fn now(self) -> &'static str {
        match self {
            Self::AMinuteLater => "(now | dateModify \"1m1s\")",
            Self::AYearLater => "(now | dateModify \"9013h37m11s\")",
        }
    }
}

/// Archives of subcharts can hold archives of subcharts; no Helm chart is deeper than that.
const MOST_ARCHIVES: usize = 8;

/// The templates that make hooks: a rule asks nothing of the others, and a record with all of them is large.
#[must_use]
pub fn of_hooks(templates: &Templates) -> Templates {
    let makes_hooks = |(_, source): &(&String, &String)| source.contains("helm.sh/hook");
    templates.iter().filter(makes_hooks).map(|(path, source)| (path.clone(), source.clone())).collect()
}

/// The templates that call `lookup`: it finds nothing without a cluster, so they may render something else in one.
pub fn that_look_up(templates: &Templates) -> impl Iterator<Item = &str> {
    templates.iter().filter(|(_, source)| calls(source, "lookup")).map(|(path, _)| path.as_str())
}

/// The differences between a chart and its copy.
#[derive(Debug, Clone, Copy)]
pub struct Changes<'a> {
    /// `.Release.Revision`.
    pub revision: u64,
    /// The values in the place of the chart's own, as JSON or YAML.
    pub values: Option<&'a [u8]>,
    pub clock: Clock,
    /// Its renders hold the values too: `take_values` takes them out.
    pub prints: bool,
}

/// A copy of a chart, and what the original says of its renders.
#[derive(Debug)]
pub struct Copied {
    pub chart: PathBuf,
    pub sources: Sources,
}

/// The files of a chart that say what it renders, and of its subcharts, by their paths from the chart's folder on. A subchart
/// that is packed lies there under its name.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    pub templates: Templates,
    /// `Chart.yaml`, `values.yaml` and the like.
    pub about: BTreeMap<String, String>,
}

impl Sources {
    /// All of them.
    #[must_use]
    pub fn all(&self) -> BTreeMap<String, String> {
        self.templates.iter().chain(&self.about).map(|(path, source)| (path.clone(), source.clone())).collect()
    }

    /// What Helm cannot read as text makes no template.
    fn add(&mut self, path: &str, source: &str) {
        let sources = match Place::of(path) {
            Place::Template => &mut self.templates,
            Place::About => &mut self.about,
            Place::Archive | Place::Other => return,
        };
        sources.insert(path.to_owned(), source.to_owned());
    }
}

/// A template asks for the time.
#[must_use]
pub fn ask_for_the_time(templates: &Templates) -> bool {
    templates.values().any(|source| calls(source, "now"))
}

/// A template can tell an upgrade from an install: it asks for the operation, the revision or the time, or renders texts
/// that may. `texts` are those, where they are known.
#[must_use]
pub fn tell_upgrades(templates: &Templates, texts: Option<&str>) -> bool {
    let names_it = |source: &str| ["IsInstall", "IsUpgrade", "Revision"].iter().any(|field| source.contains(field));
    let texts_tell = texts.is_none_or(|texts| names_it(texts) || texts.contains("now"));
    let mut sources = templates.values();
    sources.any(|source| names_it(source) || calls(source, "now") || (texts_tell && calls(source, "tpl")))
}

const VALUES: &str = "values.yaml";

/// Copies a chart, a folder or an archive, into a folder: in the copy some things are others.
///
/// # Errors
///
/// When the chart cannot be read or the copy not be written.
pub fn copy(chart: &Path, changes: Changes<'_>, into: &Path) -> io::Result<Copied> {
    let prints = if changes.prints { PRINTER } else { "" };
    let first = format!("{{{{- $_ := set .Release \"Revision\" {} -}}}}\n{prints}", changes.revision);
    let mut sources = Sources::default();
    let found = fs::metadata(chart)?;
    if !found.is_dir() {
        let copy = into.join("chart.tgz");
        let mut files = unpack(&regular(&found, chart, || fs::read(chart))?)?;
        rewrite(&mut files, "", &mut sources, (changes.clock, MOST_ARCHIVES))?;
        let path = format!("chart/{}", first_template(&sources.templates));
        files.push(Pack::new(path.into_bytes(), first.into_bytes()));
        if let Some(values) = changes.values {
            files.retain(|file| file.path().as_deref() != Some(VALUES));
            files.push(Pack::new(format!("chart/{VALUES}").into_bytes(), values.to_vec()));
        }
        fs::write(&copy, pack(&files)?)?;
        return Ok(Copied { chart: copy, sources });
    }
    // A folder without this file is no chart and may be large; Helm says so in its own words.
    fs::metadata(chart.join("Chart.yaml"))?;
    let rules = rules_of(chart)?;
    let copy = into.join("chart");
    Folder { chart, copy: &copy, rules: &rules, sources: &mut sources, clock: changes.clock }.copy(Path::new(""))?;
    let path = first_template(&sources.templates);
    if is_ignored(&rules, &path) || (changes.values.is_some() && is_ignored(&rules, VALUES)) {
        // All other files that it lists are left out of the copy already.
        let _ = fs::remove_file(copy.join(ignore::NAME));
    }
    if let Some(values) = changes.values {
        // The file may be the chart's own, under one more name: writing to it would change both.
        let _ = fs::remove_file(copy.join(VALUES));
        fs::write(copy.join(VALUES), values)?;
    }
    let path = copy.join(path);
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, first)?;
    Ok(Copied { chart: copy, sources })
}

/// What Helm leaves out of a chart's folder.
fn rules_of(chart: &Path) -> io::Result<Rules> {
    let rules = chart.join(ignore::NAME);
    let rules = match fs::metadata(&rules) {
        Ok(found) => regular(&found, ignore::NAME.as_ref(), || fs::read(&rules))?,
        Err(_) => Vec::new(),
    };
    Rules::parse(&rules).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

/// A chart's folder that is being copied, as Helm walks it: links are followed, and what is ignored is not opened.
struct Folder<'a> {
    chart: &'a Path,
    copy: &'a Path,
    rules: &'a Rules,
    sources: &'a mut Sources,
    clock: Clock,
}

impl Folder<'_> {
    /// Copies what lies at `inside` of the chart.
    fn copy(&mut self, inside: &Path) -> io::Result<()> {
        // The parents are not made too: a copy that was given up meanwhile must not come back.
        fs::create_dir(self.copy.join(inside))?;
        let entries = fs::read_dir(self.chart.join(inside)).map_err(|error| at(inside, &error))?;
        let entries = entries.map(|entry| entry.and_then(|entry| Ok((entry.file_name(), entry.file_type()?))));
        let mut entries = entries.collect::<io::Result<Vec<_>>>()?;
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        for (name, entry_type) in entries {
            let inside = inside.join(name);
            let original = self.chart.join(&inside);
            let found = fs::metadata(&original).map_err(|error| at(&inside, &error))?;
            if self.rules.ignore(&slashed(&inside), found.is_dir()) {
                continue;
            }
            if found.is_dir() {
                self.copy(&inside)?;
            } else {
                regular(&found, &inside, || self.file(&inside, &original, entry_type.is_file()))?;
            }
        }
        Ok(())
    }

    fn file(&mut self, inside: &Path, original: &Path, can_be_linked: bool) -> io::Result<()> {
        let copy = self.copy.join(inside);
        let path = String::from_utf8_lossy(&slashed(inside)).into_owned();
        if Place::of(&path) != Place::Other {
            let bytes = fs::read(original)?;
            if let Cow::Owned(changed) = rewritten(&path, &bytes, self.sources, (self.clock, MOST_ARCHIVES))? {
                return fs::write(copy, changed);
            }
        }
        // A new file costs far more than a new name.
        if can_be_linked && fs::hard_link(original, &copy).is_ok() {
            return Ok(());
        }
        fs::copy(original, copy).map(drop)
    }
}

/// Opens a file; Helm refuses one that is too large, and everything else in a chart.
fn regular<T>(found: &fs::Metadata, path: &Path, open: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let refused = |what: &str| Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{}: {what}", path.display())));
    if !found.is_file() {
        return refused(
            "this is neither a file nor a folder, and Helm refuses it in a chart: delete it, or list it in .helmignore",
        );
    }
    if found.len() > MOST_BYTES {
        return refused("this file is larger than the 100 MiB of a chart that Helm reads: list it in .helmignore");
    }
    open().map_err(|error| at(path, &error))
}

fn at(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

fn slashed(path: &Path) -> Vec<u8> {
    let parts: Vec<_> = path.iter().map(OsStr::as_encoded_bytes).collect();
    parts.join(&b'/')
}

/// The file, or a folder that it lies in.
fn is_ignored(rules: &Rules, path: &str) -> bool {
    let folders = path.match_indices('/').filter_map(|(at, _)| path.get(..at));
    folders
        .map(|folder| (folder, true))
        .chain([(path, false)])
        .any(|(path, is_folder)| rules.ignore(path.as_bytes(), is_folder))
}

/// Helm renders the deepest template first, and all templates share one `.Release`: what this one sets they all read.
/// `helm template` itself leaves the revision of an upgrade at 1.
fn first_template(templates: &Templates) -> String {
    let deepest = templates.keys().map(|path| path.split('/').count()).max().unwrap_or_default();
    format!("templates/{}revision.yaml", "revision/".repeat(deepest))
}

/// The part that a file plays in a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Template,
    /// What a chart says of itself, its values and their schema.
    About,
    /// The archive of a subchart.
    Archive,
    Other,
}

const ABOUT: [&str; 4] = ["Chart.yaml", "requirements.yaml", VALUES, "values.schema.json"];

impl Place {
    /// The path goes from the chart's folder on, and may lead into a subchart.
    fn of(path: &str) -> Self {
        let mut rest = path;
        while let Some(subchart) = rest.strip_prefix("charts/").filter(|name| !name.starts_with(['_', '.'])) {
            match subchart.split_once('/') {
                Some((_, inside)) => rest = inside,
                None if Path::new(subchart).extension() == Some(OsStr::new("tgz")) => return Self::Archive,
                None => return Self::Other,
            }
        }
        match rest {
            _ if rest.starts_with("templates/") => Self::Template,
            _ if ABOUT.contains(&rest) => Self::About,
            _ => Self::Other,
        }
    }
}

/// Rewrites the files of an archive, whose chart lies at `inside` of the outermost one.
fn rewrite(files: &mut [Pack], inside: &str, sources: &mut Sources, how: (Clock, usize)) -> io::Result<()> {
    for file in files {
        let Some(path) = file.path() else { continue };
        let path = format!("{inside}{path}");
        if let Cow::Owned(changed) = rewritten(&path, &file.bytes, sources, how)? {
            file.bytes = changed;
        }
    }
    Ok(())
}

/// A chart's file as the copy has it.
fn rewritten<'a>(
    path: &str,
    bytes: &'a [u8],
    sources: &mut Sources,
    (clock, most_archives): (Clock, usize),
) -> io::Result<Cow<'a, [u8]>> {
    match (Place::of(path), str::from_utf8(bytes)) {
        (Place::Archive, _) if most_archives > 0 => {
            let mut files = unpack(bytes)?;
            let charts = path.rsplit_once('/').map_or("", |(charts, _)| charts);
            let inside = format!("{charts}/{}/", archive::name(&files));
            rewrite(&mut files, &inside, sources, (clock, most_archives - 1))?;
            pack(&files).map(Cow::Owned)
        }
        (place @ (Place::Template | Place::About), Ok(source)) => {
            let source = source.strip_prefix('\u{FEFF}').unwrap_or(source);
            sources.add(path, source);
            Ok(match later(source, clock) {
                Cow::Owned(changed) if place == Place::Template => Cow::Owned(changed.into_bytes()),
                Cow::Owned(_) | Cow::Borrowed(_) => Cow::Borrowed(bytes),
            })
        }
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

static ACTION: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?s)\{\{(?:/\*.*?\*/|"(?:\\.|[^"\\])*"|`[^`]*`|.)*?\}\}"#).ok());

/// Comments and strings are one token each, and so is a field (`.now`), a variable (`$now`) and a longer word.
static TOKEN: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"(?s)/\*.*?\*/|"(?:\\.|[^"\\])*"|`[^`]*`|[.$A-Za-z0-9_]+"#).ok());

/// Both patterns, where the template mentions the function at all. They are constants, and the tests would see one that
/// does not compile.
fn patterns(source: &str, function: &str) -> Option<(&'static Regex, &'static Regex)> {
    if source.contains(function) { ACTION.as_ref().zip(TOKEN.as_ref()) } else { None }
}

/// The rest of a token that calls the function: nothing, or a field of its result.
fn field_of_call<'t>(token: &'t str, function: &str) -> Option<&'t str> {
    token.strip_prefix(function).filter(|field| field.is_empty() || field.starts_with('.'))
}

/// An action of the template calls the function.
fn calls(source: &str, function: &str) -> bool {
    patterns(source, function).is_some_and(|(actions, tokens)| {
        let mut found = actions.find_iter(source).flat_map(|action| tokens.find_iter(action.as_str()));
        found.any(|token| field_of_call(token.as_str(), function).is_some())
    })
}

/// The template with another `now`, wherever an action calls it.
fn later(source: &str, clock: Clock) -> Cow<'_, str> {
    let text = |found: &Captures<'_>| found.get(0).map_or("", |found| found.as_str()).to_owned();
    let Some((actions, tokens)) = patterns(source, "now") else { return Cow::Borrowed(source) };
    actions.replace_all(source, |action: &Captures<'_>| {
        let action = text(action);
        let replaced = tokens.replace_all(&action, |token: &Captures<'_>| {
            let token = text(token);
            field_of_call(&token, "now").map(|field| format!("{}{field}", clock.now())).unwrap_or(token.clone())
        });
        replaced.into_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::archive::{Pack, pack, unpack};
    use super::{Changes, Clock, Copied, Place, ask_for_the_time, copy, later};

    const LATER: &str = "(now | dateModify \"9013h37m11s\")";
    const REVISION_7: Changes<'_> = Changes { revision: 7, values: None, clock: Clock::AYearLater, prints: false };

    #[test]
    #[cfg(unix)]
    fn a_copy_has_all_of_the_chart_and_the_revision() {
        let folder = tempfile::tempdir().unwrap();
        let [chart, into] = ["chart", "into"].map(|name| folder.path().join(name));
        for name in ["chart/templates", "chart/.git", "elsewhere", "into"] {
            fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        for (name, text) in [
            ("chart/Chart.yaml", "name: now"),
            ("chart/templates/a.yaml", "{{ now }}"),
            ("chart/.git/config", ""),
            ("elsewhere/_b.tpl", "b"),
        ] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("../../elsewhere", chart.join("templates/linked")).unwrap();
        std::os::unix::fs::symlink("Chart.yaml", chart.join("values.yaml")).unwrap();
        let Copied { chart: copied, sources } = copy(&chart, REVISION_7, &into).unwrap();
        let read = |name: &str| fs::read_to_string(copied.join(name)).ok();
        assert_eq!(read("Chart.yaml").as_deref(), Some("name: now"));
        assert_eq!(read("values.yaml").as_deref(), Some("name: now"));
        assert_eq!(read("templates/a.yaml"), Some(format!("{{{{ {LATER} }}}}")));
        assert_eq!(read("templates/linked/_b.tpl").as_deref(), Some("b"));
        assert_eq!(read(".git/config").as_deref(), Some(""), "a part of the chart for Helm");
        let first = "templates/revision/revision/revision/revision.yaml";
        assert!(read(first).unwrap().contains("\"Revision\" 7"), "deeper than the deepest template");
        let read = |files: &BTreeMap<String, String>| files.clone().into_iter().collect::<Vec<_>>();
        let expected = |files: [(&str, &str); 2]| files.map(|(path, source)| (path.to_owned(), source.to_owned()));
        assert_eq!(
            read(&sources.templates),
            expected([("templates/a.yaml", "{{ now }}"), ("templates/linked/_b.tpl", "b")])
        );
        assert_eq!(read(&sources.about), expected([("Chart.yaml", "name: now"), ("values.yaml", "name: now")]));
        let fails = |chart: &Path| copy(chart, REVISION_7, &into).unwrap_err().kind();
        assert_eq!(fails(&folder.path().join("elsewhere")), std::io::ErrorKind::NotFound, "no chart");
        assert_eq!(fails(&folder.path().join("nowhere")), std::io::ErrorKind::NotFound);
        assert_eq!(fails(&chart.join("Chart.yaml")), std::io::ErrorKind::UnexpectedEof, "no archive");
    }

    /// A chart's folder and one for its copy.
    #[cfg(unix)]
    fn chart_with(folder: &Path, ignored: &str) -> [std::path::PathBuf; 2] {
        let [chart, into] = ["chart", "into"].map(|name| folder.join(name));
        for folder in [&chart.join("templates"), &chart.join("tmp"), &into] {
            fs::create_dir_all(folder).unwrap();
        }
        for (name, text) in
            [(".helmignore", ignored), ("Chart.yaml", "name: a"), ("templates/a.yaml", "a"), ("tmp/b", "b")]
        {
            fs::write(chart.join(name), text).unwrap();
        }
        [chart, into]
    }

    #[cfg(unix)]
    fn fifo(path: &Path) {
        assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
    }

    #[test]
    #[cfg(unix)]
    fn what_helmignore_names_is_neither_opened_nor_copied() {
        let folder = tempfile::tempdir().unwrap();
        let [chart, into] = chart_with(folder.path(), "*.pipe\ntmp/\nlinked\n");
        fifo(&chart.join("a.pipe"));
        for (to, link) in [("..", "tmp/self"), ("nowhere", "tmp/dangling"), ("tmp", "linked")] {
            std::os::unix::fs::symlink(to, chart.join(link)).unwrap();
        }
        let copied = copy(&chart, REVISION_7, &into).unwrap().chart;
        let mut names: Vec<_> = fs::read_dir(copied).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".helmignore", "Chart.yaml", "templates"]);
    }

    #[test]
    #[cfg(unix)]
    fn what_is_no_file_is_refused_and_not_opened() {
        for pipe in ["a.pipe", "templates/b.yaml", ".helmignore"] {
            let folder = tempfile::tempdir().unwrap();
            let [chart, into] = chart_with(folder.path(), "");
            let _ = fs::remove_file(chart.join(pipe));
            fifo(&chart.join(pipe));
            let error = copy(&chart, REVISION_7, &into).unwrap_err().to_string();
            assert!(error.starts_with(&format!("{pipe}: this is neither a file nor a folder")), "{error}");
        }
        let folder = tempfile::tempdir().unwrap();
        let chart = folder.path().join("chart.tgz");
        fifo(&chart);
        assert!(
            copy(&chart, REVISION_7, folder.path()).unwrap_err().to_string().contains("neither a file nor a folder")
        );
    }

    #[test]
    #[cfg(unix)]
    fn a_chart_that_would_ignore_the_revision_has_it_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let [chart, into] = chart_with(folder.path(), "revis*\n");
        let copied = copy(&chart, REVISION_7, &into).unwrap().chart;
        assert!(copied.join("templates/revision/revision/revision.yaml").is_file());
        assert!(!copied.join(".helmignore").exists());
    }

    #[test]
    #[cfg(unix)]
    fn links_without_end_and_large_files_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let [chart, into] = chart_with(folder.path(), "");
        std::os::unix::fs::symlink("..", chart.join("tmp/self")).unwrap();
        assert!(copy(&chart, REVISION_7, &into).unwrap_err().to_string().starts_with("tmp/self/"));
        let folder = tempfile::tempdir().unwrap();
        let [chart, into] = chart_with(folder.path(), "");
        fs::File::create(chart.join("large")).unwrap().set_len(101 * 1024 * 1024).unwrap();
        let error = copy(&chart, REVISION_7, &into).unwrap_err().to_string();
        assert!(error.starts_with("large: this file is larger"), "{error}");
    }

    #[test]
    fn an_archive_is_read_as_helm_reads_it() {
        let long = format!("./templates/{}.yaml", "long".repeat(40));
        let names = ["./Chart.yaml", "./templates/a.yaml", "chart\\templates\\b.yaml", "../Chart.yaml", &long];
        let packed = |names: &[&str]| {
            let files: Vec<_> =
                names.iter().map(|name| Pack::new(name.as_bytes().to_vec(), b"name: {{ now }}".to_vec())).collect();
            pack(&files).unwrap()
        };
        let folder = tempfile::tempdir().unwrap();
        let chart = folder.path().join("c.tgz");
        fs::write(&chart, packed(&names)).unwrap();
        let into = folder.path().join("into");
        fs::create_dir(&into).unwrap();
        let Copied { chart: copied, sources } = copy(&chart, REVISION_7, &into).unwrap();
        let copied = unpack(&fs::read(copied).unwrap()).unwrap();
        let found: Vec<_> = copied.iter().map(|file| (file.name.as_slice(), file.bytes.as_slice())).collect();
        let changed = format!("name: {{{{ {LATER} }}}}");
        let mut wanted: Vec<_> = names.iter().map(|name| (name.as_bytes(), changed.as_bytes())).collect();
        wanted[0].1 = b"name: {{ now }}";
        wanted[3].1 = b"name: {{ now }}";
        let first = b"{{- $_ := set .Release \"Revision\" 7 -}}\n";
        wanted.push((b"chart/templates/revision/revision/revision.yaml", first));
        assert_eq!(found, wanted);
        let paths: Vec<_> = sources.templates.keys().map(String::as_str).collect();
        assert_eq!(paths, ["templates/a.yaml", "templates/b.yaml", long.strip_prefix("./").unwrap()]);
    }

    #[test]
    fn only_what_helm_takes_for_a_template_or_a_subchart_is_one() {
        for (path, wanted) in [
            ("templates/a", Place::Template),
            ("charts/a/templates/b/c", Place::Template),
            ("charts/a/charts/b/templates/c", Place::Template),
            ("charts/a.tgz", Place::Archive),
            ("charts/a/charts/b.tgz", Place::Archive),
            ("files/templates/a", Place::Other),
            ("files/charts/a.tgz", Place::Other),
            ("charts/_a.tgz", Place::Other),
            ("charts/.a/templates/b", Place::Other),
            ("values.yaml", Place::About),
            ("charts/a/charts/b/Chart.yaml", Place::About),
            ("files/values.yaml", Place::Other),
            ("charts/values.yaml", Place::Other),
            ("charts/a.tgz.prov", Place::Other),
            ("templates", Place::Other),
        ] {
            assert_eq!(Place::of(path), wanted, "{path}");
        }
    }

    #[test]
    fn the_function_now_is_a_year_later() {
        for (source, wanted) in [
            ("{{ now }}", "{{ L }}"),
            ("a-{{- now | date \"now\" -}}", "a-{{- L | date \"now\" -}}"),
            ("{{ now.Unix }}-{{ (now).Unix }}", "{{ L.Unix }}-{{ (L).Unix }}"),
            ("{{ printf `now }} %s` now }}", "{{ printf `now }} %s` L }}"),
            ("{{ \"\\\" now\" }}{{ $now }}{{ .now }}{{ $.now }}{{ nowhere }}", ""),
            ("now {{/* now }} now */}} now {{- /* }} now */ -}}", ""),
            ("{{ if now }}\n{{ now", "{{ if L }}\n{{ now"),
        ] {
            let wanted = if wanted.is_empty() { source.to_owned() } else { wanted.replace('L', LATER) };
            assert_eq!(later(source, Clock::AYearLater), wanted);
            let templates = [("a".to_owned(), source.to_owned())].into();
            assert_eq!(ask_for_the_time(&templates), wanted != source, "{source}");
        }
    }
}
