//! A packed chart, file by file, read as Helm reads it.

use std::io::{self, Read};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use helm::yaml;
use tar::{Archive, Builder, EntryType, Header};

/// Helm 4 reads no more of a chart, and Helm 3 no more of an archive.
pub(super) const MOST_BYTES: u64 = 100 * 1024 * 1024;

/// The longest name that fits into a header.
const LONGEST_NAME: usize = 100;

/// A file in an archive, with its name just as it stands there: Helm shall refuse in the copy what it refuses.
#[derive(Debug)]
pub(super) struct Pack {
    header: Header,
    pub(super) name: Vec<u8>,
    pub(super) bytes: Vec<u8>,
}

impl Pack {
    pub(super) fn new(name: Vec<u8>, bytes: Vec<u8>) -> Self {
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        Self { header, name, bytes }
    }

    /// The path from the chart's folder on, whatever that is called; `None` where Helm refuses the name.
    pub(super) fn path(&self) -> Option<String> {
        let name = String::from_utf8_lossy(&self.name);
        // Packed on Windows.
        let delimiter = if name.contains('\\') { '\\' } else { '/' };
        let (_, path) = name.split_once(delimiter)?;
        if path.starts_with(delimiter) {
            return None;
        }
        let mut parts = Vec::new();
        for part in path.split([delimiter, '/']).filter(|part| !matches!(*part, "" | ".")) {
            if part == ".." {
                parts.pop()?;
            } else {
                parts.push(part);
            }
        }
        Some(parts.join("/"))
    }
}

/// The files of an archive, in their order. Helm takes a link for an empty file.
pub(super) fn unpack(packed: &[u8]) -> io::Result<Vec<Pack>> {
    let mut left = MOST_BYTES;
    let mut files = Vec::new();
    let mut archive = Archive::new(MultiGzDecoder::new(packed));
    for entry in archive.entries()? {
        let mut entry = entry?;
        let entry_type = entry.header().entry_type();
        let mut header = entry.header().clone();
        let mut bytes = Vec::new();
        match entry_type {
            EntryType::Directory | EntryType::XGlobalHeader | EntryType::XHeader => continue,
            EntryType::GNUSparse => header.set_entry_type(EntryType::Regular),
            _ => {}
        }
        if matches!(entry_type, EntryType::Regular | EntryType::Continuous | EntryType::GNUSparse) {
            (&mut entry).take(left + 1).read_to_end(&mut bytes)?;
        }
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        left = left.checked_sub(length).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidData, "unpacked it is larger than the 100 MiB that Helm reads")
        })?;
        files.push(Pack { header, name: entry.path_bytes().into_owned(), bytes });
    }
    Ok(files)
}

pub(super) fn pack(files: &[Pack]) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for Pack { header, name, bytes } in files {
        let mut header = header.clone();
        if *header.path_bytes() != **name {
            header = Header::new_gnu();
            header.set_mode(0o644);
            rename(&mut archive, &mut header, name)?;
        }
        append(&mut archive, header, bytes)?;
    }
    archive.into_inner()?.finish()
}

/// Gives a header a name byte by byte: the library would make one of two names that Helm tells apart.
fn rename<W: io::Write>(archive: &mut Builder<W>, header: &mut Header, name: &[u8]) -> io::Result<()> {
    if name.len() > LONGEST_NAME {
        let mut long = Header::new_gnu();
        long.set_path("././@LongLink")?;
        long.set_entry_type(EntryType::GNULongName);
        append(archive, long, &[name, b"\0"].concat())?;
    }
    for (to, from) in header.as_old_mut().name.iter_mut().zip(name) {
        *to = *from;
    }
    Ok(())
}

fn append<W: io::Write>(archive: &mut Builder<W>, mut header: Header, bytes: &[u8]) -> io::Result<()> {
    header.set_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
    header.set_cksum();
    archive.append(&header, bytes)
}

/// The chart's name in the paths of its templates, whatever its folder or its archive is called.
pub(super) fn name(files: &[Pack]) -> String {
    let metadata = files.iter().find(|file| file.path().as_deref() == Some("Chart.yaml"));
    let text = metadata.and_then(|file| str::from_utf8(&file.bytes).ok()).unwrap_or_default();
    let parsed = yaml::parse(text, &yaml::Limits::default()).ok().flatten();
    let name = parsed.and_then(|(_, metadata)| Some(metadata.get("name")?.as_str()?.to_owned()));
    name.unwrap_or_default()
}
