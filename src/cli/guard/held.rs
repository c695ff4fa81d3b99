//! What can be read only once, standard input or a pipe, is held for both runs of Helm.

use std::fs::{self, File};
use std::io::{self, Read as _, Seek as _, Write as _};

use crate::cli::outcome::Failure;
use crate::invocation::Invocation;

/// Files that no other program finds; they are gone with the last program that has them open.
#[derive(Debug, Default)]
pub(super) struct Held(Vec<File>);

impl Held {
    /// Holds what the words name and can be read only once, and names what is held in its place.
    pub(super) fn of(invocation: Invocation) -> Result<(Invocation, Self), Failure> {
        let mut held = Vec::new();
        let invocation = invocation.with_files(|path| {
            if !is_read_once(path) {
                return Ok(None);
            }
            let fail = |error: io::Error| Failure(format!("{path}: {error}"));
            let mut bytes = Vec::new();
            let read = if path == "-" { io::stdin().read_to_end(&mut bytes) } else { read(path, &mut bytes) };
            read.map_err(fail)?;
            let (file, path) = hold(&bytes).map_err(fail)?;
            held.push(file);
            Ok(Some(path))
        })?;
        Ok((invocation, Self(held)))
    }

    /// Lets the next program read them from their beginning: not everywhere a file that is opened once more is at its own.
    pub(super) fn rewind(&self) -> Result<(), Failure> {
        let rewound = self.0.iter().try_for_each(|mut file| file.rewind());
        rewound.map_err(|error| Failure(format!("what was read cannot be read again: {error}")))
    }
}

/// Standard input, or a pipe as `<(…)` makes one.
fn is_read_once(path: &str) -> bool {
    path == "-" || fs::metadata(path).is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

fn read(path: &str, bytes: &mut Vec<u8>) -> io::Result<usize> {
    File::open(path)?.read_to_end(bytes)
}

/// A file without a name, and the path under which a program that this one starts finds it.
#[cfg(unix)]
fn hold(bytes: &[u8]) -> io::Result<(File, String)> {
    use std::os::fd::AsRawFd as _;

    let mut file = nameless()?;
    file.write_all(bytes)?;
    file.rewind()?;
    rustix::io::fcntl_setfd(&file, rustix::io::FdFlags::empty())?;
    let path = format!("/dev/fd/{}", file.as_raw_fd());
    Ok((file, path))
}

/// In memory.
#[cfg(target_os = "linux")]
fn nameless() -> io::Result<File> {
    Ok(File::from(rustix::fs::memfd_create("stable-hooks", rustix::fs::MemfdFlags::CLOEXEC)?))
}

/// On the disk, but in no folder.
#[cfg(all(unix, not(target_os = "linux")))]
fn nameless() -> io::Result<File> {
    tempfile::tempfile()
}

/// There is no file without a name that another program could open.
#[cfg(not(unix))]
fn hold(_: &[u8]) -> io::Result<(File, String)> {
    Err(io::Error::other("it can be read only once here, and Helm runs twice: write it to a file"))
}
