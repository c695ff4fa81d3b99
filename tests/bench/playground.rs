//! What the playground weighs on its way to a browser.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{grouped, table};

/// As `make playground-files` makes it.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/playground");
/// What is smaller is summed up.
const SHOWN: usize = 10_000;

/// All of it.
pub(crate) fn section() -> io::Result<String> {
    let mut files = Vec::new();
    read(Path::new(FOLDER), &mut files)?;
    let (mut rows, mut rest, mut total) = (Vec::new(), (0, 0), (0, 0));
    files.sort();
    for file in &files {
        let bytes = fs::read(file)?;
        let sizes = (bytes.len(), packed(&bytes)?);
        total = (total.0 + sizes.0, total.1 + sizes.1);
        if sizes.1 < SHOWN {
            rest = (rest.0 + sizes.0, rest.1 + sizes.1);
        } else {
            let name = file.strip_prefix(FOLDER).unwrap_or(file).display();
            rows.push([format!("`{name}`"), grouped(sizes.0), grouped(sizes.1)]);
        }
    }
    for (name, (bytes, packed)) in [("everything else", rest), ("**all**", total)] {
        rows.push([name.to_owned(), grouped(bytes), grouped(packed)]);
    }
    Ok(format!(
        "## The playground\n\nThe limit is 1,200,000 bytes, compressed.\n\n{}\nCompressed by gzip at its best. `annotated-policy.wasm` is \
         fetched when an AdmissionReview is looked at for the first time.\n",
        table(["file", "bytes", "compressed"], &rows)
    ))
}

fn read(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { read(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

fn packed(bytes: &[u8]) -> io::Result<usize> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len())
}
