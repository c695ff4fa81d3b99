//! The files of a chart that say what it renders, of its subcharts too.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::ignore::Rules;
use super::archive::{self, unpack};
use super::{MOST_ARCHIVES, Place, regular, rules_of, slashed};

/// The files by their paths from the chart's folder on; a subchart that is packed lies there under its name.
///
/// # Errors
///
/// When a file cannot be read, or an archive not be unpacked.
pub fn files(chart: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    if chart.is_dir() {
        of_folder(chart, &PathBuf::new(), &rules_of(chart)?, &mut files)?;
    } else {
        of_archive(&fs::read(chart)?, "", MOST_ARCHIVES, &mut files)?;
    }
    Ok(files)
}

fn of_folder(chart: &Path, inside: &Path, rules: &Rules, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(chart.join(inside))? {
        let entry = entry?;
        let inside = inside.join(entry.file_name());
        let is_folder = entry.path().is_dir();
        if rules.ignore(&slashed(&inside), is_folder) {
            continue;
        }
        let path = String::from_utf8_lossy(&slashed(&inside)).into_owned();
        // Reading a pipe would wait for ever.
        let read = || regular(&fs::metadata(entry.path())?, &inside, || fs::read(entry.path()));
        if is_folder {
            of_folder(chart, &inside, rules, files)?;
        } else if Place::of(&path) == Place::Archive {
            of_packed(&path, &read()?, MOST_ARCHIVES, files)?;
        } else if says_what_is_rendered(&path) {
            insert(path, read()?, files);
        }
    }
    Ok(())
}

fn of_archive(packed: &[u8], folder: &str, most: usize, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    for file in unpack(packed)? {
        let Some(path) = file.path() else { continue };
        if Place::of(&path) == Place::Archive {
            of_packed(&format!("{folder}{path}"), &file.bytes, most, files)?;
        } else if says_what_is_rendered(&path) {
            insert(format!("{folder}{path}"), file.bytes, files);
        }
    }
    Ok(())
}

/// A subchart that lies packed at that path.
fn of_packed(path: &str, packed: &[u8], most: usize, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    let Some(most) = most.checked_sub(1) else { return Ok(()) };
    let charts = path.rsplit_once('/').map_or("", |(charts, _)| charts);
    of_archive(packed, &format!("{charts}/{}/", archive::name(&unpack(packed)?)), most, files)
}

/// What Helm cannot read as text makes no template.
fn insert(path: String, bytes: Vec<u8>, files: &mut BTreeMap<String, String>) {
    if let Ok(text) = String::from_utf8(bytes) {
        files.insert(path, text.strip_prefix('\u{FEFF}').map(str::to_owned).unwrap_or(text));
    }
}

fn says_what_is_rendered(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let says = ["Chart.yaml", "requirements.yaml", "values.yaml", "values.schema.json"].contains(&name);
    Place::of(path) == Place::Template || (says && is_at_the_top(path))
}

/// Directly in the folder of a chart or a subchart.
fn is_at_the_top(path: &str) -> bool {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts = folder.split('/').filter(|part| !part.is_empty());
    while let Some(part) = parts.next() {
        if part != "charts" || parts.next().is_none() {
            return false;
        }
    }
    true
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::files;

    #[test]
    fn what_helmignore_names_is_not_opened_and_a_pipe_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let chart = folder.path();
        fs::create_dir(chart.join("templates")).unwrap();
        for (name, text) in [(".helmignore", "*.pipe\nself\n"), ("Chart.yaml", "name: a"), ("templates/a.yaml", "a")] {
            fs::write(chart.join(name), text).unwrap();
        }
        std::os::unix::fs::symlink("..", chart.join("templates/self")).unwrap();
        let fifo = |name: &str| assert!(Command::new("mkfifo").arg(chart.join(name)).status().unwrap().success());
        fifo("templates/b.pipe");
        let read = files(chart).unwrap();
        assert_eq!(read.keys().collect::<Vec<_>>(), ["Chart.yaml", "templates/a.yaml"]);
        fifo("values.yaml");
        assert!(files(chart).unwrap_err().to_string().starts_with("values.yaml: this is neither a file nor a folder"));
    }
}
