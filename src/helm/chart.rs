//! A chart's files: its templates, and a private copy that renders as a later revision of a release.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use regex::{Captures, Regex};
use tar::{Archive, Builder, Header};

/// No upgrade happens in the same second as the install: each part of a date is another one then.
const LATER: &str = "(now | dateModify \"9013h37m11s\")";

/// The archives of subcharts hold archives of subcharts; Helm charts are not deeper than that.
const MOST_ARCHIVES: usize = 8;

/// The sources of templates, by their paths from the chart's folder on.
pub type Templates = BTreeMap<String, String>;

/// Those that make hooks: a rule asks nothing of the others, and a record with all of them is large.
#[must_use]
pub fn of_hooks(templates: &Templates) -> Templates {
    let makes_hooks = |(_, source): &(&String, &String)| source.contains("helm.sh/hook");
    templates.iter().filter(makes_hooks).map(|(path, source)| (path.clone(), source.clone())).collect()
}

/// Copies a chart, a folder or an archive, into a folder: in the copy `.Release.Revision` is `revision`, and `now` a year
/// later. Gives the copy's path and the sources of the original's templates.
///
/// # Errors
///
/// When the chart cannot be read or the copy not be written.
pub fn copy(chart: &Path, revision: u64, into: &Path) -> io::Result<(PathBuf, Templates)> {
    let mut templates = Templates::new();
    let first = format!("{{{{- $_ := set .Release \"Revision\" {revision} -}}}}\n");
    if chart.is_dir() {
        // What is no chart may be anything, and large; Helm says so in its own words.
        fs::metadata(chart.join("Chart.yaml"))?;
        let copy = into.join("chart");
        copy_folder(chart, Path::new(""), &copy, &mut templates)?;
        let path = copy.join(first_template(&templates));
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, first)?;
        return Ok((copy, templates));
    }
    let copy = into.join("chart.tgz");
    let packed = repack(&fs::read(chart)?, Path::new(""), Some(&first), &mut templates, MOST_ARCHIVES)?;
    fs::write(&copy, packed)?;
    Ok((copy, templates))
}

/// Copies what lies at `inside` of a chart.
fn copy_folder(chart: &Path, inside: &Path, copy: &Path, templates: &mut Templates) -> io::Result<()> {
    fs::create_dir_all(copy.join(inside))?;
    for entry in fs::read_dir(chart.join(inside))? {
        let (entry_type, name) = entry.and_then(|entry| Ok((entry.file_type()?, entry.file_name())))?;
        // The history of a repository whose root is the chart: large, and no part of it.
        if name == ".git" {
            continue;
        }
        let inside = inside.join(name);
        let path = chart.join(&inside);
        if path.is_dir() {
            copy_folder(chart, &inside, copy, templates)?;
            continue;
        }
        if is_rewritten(&inside) {
            let bytes = fs::read(&path)?;
            if let Cow::Owned(changed) = rewritten(&inside, &bytes, templates, MOST_ARCHIVES)? {
                fs::write(copy.join(&inside), changed)?;
                continue;
            }
        }
        // A new file costs far more than a new name.
        if !entry_type.is_file() || fs::hard_link(&path, copy.join(&inside)).is_err() {
            fs::copy(path, copy.join(&inside))?;
        }
    }
    Ok(())
}

/// Helm renders the deepest template first, and all templates share one `.Release`: what this one sets they all read.
/// `helm template` itself leaves the revision of an upgrade at 1.
fn first_template(templates: &Templates) -> PathBuf {
    let deepest = templates.keys().map(|path| path.split('/').count()).max().unwrap_or_default();
    let folders = std::iter::repeat_n("revision", deepest);
    Path::new("templates").join(folders.collect::<PathBuf>()).join("revision.yaml")
}

/// Packs an archive again whose files begin with the chart's name, which lies at `inside` of its parent.
fn repack(
    packed: &[u8],
    inside: &Path,
    first: Option<&str>,
    templates: &mut Templates,
    most_archives: usize,
) -> io::Result<Vec<u8>> {
    let mut archive = Archive::new(GzDecoder::new(packed));
    let mut copy = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    let mut root = None;
    for entry in archive.entries()? {
        let mut entry = entry?;
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let path = entry.path()?.into_owned();
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes)?;
        let name: PathBuf = path.components().take(1).collect();
        // A subchart is called as its folder in the archive, whatever the archive is called.
        let of_chart = path.strip_prefix(&name).unwrap_or(&path);
        let at = if first.is_some() { of_chart.to_owned() } else { inside.join(&name).join(of_chart) };
        append(&mut copy, &path, &rewritten(&at, &bytes, templates, most_archives)?)?;
        root.get_or_insert(name);
    }
    if let (Some(first), Some(root)) = (first, root) {
        append(&mut copy, &root.join(first_template(templates)), first.as_bytes())?;
    }
    copy.into_inner()?.finish()
}

fn append<W: io::Write>(archive: &mut Builder<W>, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    header.set_mode(0o644);
    archive.append_data(&mut header, path, bytes)
}

fn is_rewritten(inside: &Path) -> bool {
    is_archive(inside) || is_in("templates", inside)
}

fn is_archive(inside: &Path) -> bool {
    inside.extension().is_some_and(|ending| ending == "tgz") && is_in("charts", inside)
}

fn is_in(folder: &str, inside: &Path) -> bool {
    inside.components().any(|part| part == Component::Normal(folder.as_ref()))
}

/// A chart's file as the copy has it.
fn rewritten<'a>(
    inside: &Path,
    bytes: &'a [u8],
    templates: &mut Templates,
    most_archives: usize,
) -> io::Result<Cow<'a, [u8]>> {
    if is_archive(inside) && most_archives > 0 {
        let charts = inside.parent().unwrap_or(inside);
        return repack(bytes, charts, None, templates, most_archives - 1).map(Cow::Owned);
    }
    match str::from_utf8(bytes) {
        Ok(source) if is_in("templates", inside) => {
            let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
            templates.insert(parts.join("/"), source.to_owned());
            Ok(match later(source) {
                Cow::Borrowed(source) => Cow::Borrowed(source.as_bytes()),
                Cow::Owned(source) => Cow::Owned(source.into_bytes()),
            })
        }
        _ => Ok(Cow::Borrowed(bytes)),
    }
}

/// The template with `now` a year later, wherever an action calls it.
fn later(source: &str) -> Cow<'_, str> {
    static ACTION: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?s)\{\{(?:/\*.*?\*/|"(?:\\.|[^"\\])*"|`[^`]*`|.)*?\}\}"#).ok());
    // Comments and strings are one token each, and so is a field (`.now`), a variable (`$now`) and a longer word.
    static TOKEN: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?s)/\*.*?\*/|"(?:\\.|[^"\\])*"|`[^`]*`|[.$A-Za-z0-9_]+"#).ok());
    let text = |found: &Captures<'_>| found.get(0).map_or("", |found| found.as_str()).to_owned();
    // Both patterns are constants; the tests would see one that is none.
    let (Some(actions), Some(tokens), true) = (&*ACTION, &*TOKEN, source.contains("now")) else {
        return Cow::Borrowed(source);
    };
    actions.replace_all(source, |action: &Captures<'_>| {
        let action = text(action);
        let replaced = tokens.replace_all(&action, |token: &Captures<'_>| match text(token).strip_prefix("now") {
            Some(field) if field.is_empty() || field.starts_with('.') => format!("{LATER}{field}"),
            _ => text(token),
        });
        replaced.into_owned()
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::{LATER, copy, later};

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
        let (copied, templates) = copy(&chart, 7, &into).unwrap();
        let read = |name: &str| fs::read_to_string(copied.join(name)).ok();
        assert_eq!(read("Chart.yaml").as_deref(), Some("name: now"));
        assert_eq!(read("values.yaml").as_deref(), Some("name: now"));
        assert_eq!(read("templates/a.yaml"), Some(format!("{{{{ {LATER} }}}}")));
        assert_eq!(read("templates/linked/_b.tpl").as_deref(), Some("b"));
        assert_eq!(read(".git/config"), None);
        let first = "templates/revision/revision/revision/revision.yaml";
        assert!(read(first).unwrap().contains("\"Revision\" 7"), "deeper than the deepest template");
        let sources: Vec<_> = templates.iter().map(|(path, source)| (path.as_str(), source.as_str())).collect();
        assert_eq!(sources, [("templates/a.yaml", "{{ now }}"), ("templates/linked/_b.tpl", "b")]);
        let fails = |chart: &Path| copy(chart, 7, &into).unwrap_err().kind();
        assert_eq!(fails(&folder.path().join("elsewhere")), std::io::ErrorKind::NotFound, "no chart");
        assert_eq!(fails(&folder.path().join("nowhere")), std::io::ErrorKind::NotFound);
        assert_eq!(fails(&chart.join("Chart.yaml")), std::io::ErrorKind::UnexpectedEof, "no archive");
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
            assert_eq!(later(source), wanted);
        }
    }
}
