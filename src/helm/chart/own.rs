//! The values that a chart has of its own.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::archive::{Pack, unpack};
use crate::input;

const VALUES: &str = "values.yaml";
const ARCHIVE: &str = "tgz";
/// No Helm chart is deeper than that.
const DEEPEST: usize = 8;

/// The chart's own values and those of its subcharts, a folder's or an archive's. What cannot be read is left out.
#[must_use]
pub fn own_values(chart: &Path) -> Vec<Value> {
    let mut files = Vec::new();
    if chart.is_dir() {
        of_folder(chart, DEEPEST, &mut files);
    } else {
        of_archive(&read(chart), DEEPEST, &mut files);
    }
    files.iter().filter_map(|bytes| input::value(bytes).ok()).collect()
}

fn read(path: &Path) -> Vec<u8> {
    // Reading a pipe would wait for ever.
    if path.is_file() { fs::read(path).unwrap_or_default() } else { Vec::new() }
}

fn of_folder(chart: &Path, deepest: usize, files: &mut Vec<Vec<u8>>) {
    files.push(read(&chart.join(VALUES)));
    let subcharts = fs::read_dir(chart.join("charts")).into_iter().flatten().flatten();
    for path in subcharts.map(|entry| entry.path()).filter(|_| deepest > 0) {
        if path.is_dir() {
            of_folder(&path, deepest - 1, files);
        } else if path.extension() == Some(OsStr::new(ARCHIVE)) {
            of_archive(&read(&path), deepest - 1, files);
        }
    }
}

fn of_archive(packed: &[u8], deepest: usize, files: &mut Vec<Vec<u8>>) {
    for pack in unpack(packed).unwrap_or_default() {
        match kind_of(&pack) {
            Some(Kind::Values) => files.push(pack.bytes),
            Some(Kind::Archive) if deepest > 0 => of_archive(&pack.bytes, deepest - 1, files),
            Some(Kind::Archive) | None => {}
        }
    }
}

/// What a file of an archive is to the chart's values.
enum Kind {
    Values,
    Archive,
}

fn kind_of(pack: &Pack) -> Option<Kind> {
    let path = pack.path()?;
    let mut rest = path.as_str();
    while let Some((_, inside)) = rest.strip_prefix("charts/").and_then(|subchart| subchart.split_once('/')) {
        rest = inside;
    }
    if rest == VALUES {
        return Some(Kind::Values);
    }
    let archive = rest.strip_prefix("charts/")?;
    (Path::new(archive).extension() == Some(OsStr::new(ARCHIVE))).then_some(Kind::Archive)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::super::archive::{Pack, pack};
    use super::own_values;

    #[test]
    fn the_values_of_subcharts_are_the_charts_own() {
        let file = |name: &str, text: &[u8]| Pack::new(name.as_bytes().to_vec(), text.to_vec());
        let inner = pack(&[file("inner/values.yaml", b"a: inner")]).unwrap();
        let packed = [
            file("c/values.yaml", b"a: outer"),
            file("c/charts/sub/values.yaml", b"a: sub"),
            file("c/charts/inner-1.tgz", &inner),
            file("c/ci/values.yaml", b"a: ci"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("c.tgz");
        fs::write(&archive, pack(&packed).unwrap()).unwrap();
        let wanted = [json!({"a": "outer"}), json!({"a": "sub"}), json!({"a": "inner"})];
        assert_eq!(own_values(&archive), wanted);
        let chart = folder.path().join("chart");
        fs::create_dir_all(chart.join("charts")).unwrap();
        fs::write(chart.join("values.yaml"), "a: folder").unwrap();
        fs::copy(&archive, chart.join("charts/c.tgz")).unwrap();
        assert_eq!(own_values(&chart), [&[json!({"a": "folder"})], &wanted[..]].concat());
        assert_eq!(own_values(&folder.path().join("nowhere")), Vec::<serde_json::Value>::new());
    }
}
