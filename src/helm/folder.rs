//! A temporary folder that is gone however the program ends, also on Ctrl-C.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::TempDir;

/// At most one, so that a signal finds it.
static FOLDER: Mutex<Option<TempDir>> = Mutex::new(None);

/// The folder, as long as this lives.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder and fills it; a signal waits until that is done, or it would remove half of it.
    ///
    /// # Errors
    ///
    /// When there can be no such folder, or it cannot be filled.
    pub fn filled<T>(fill: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        remove_on_signal()?;
        let mut held = held();
        let folder = held.insert(tempfile::Builder::new().prefix("stable-hooks-").tempdir()?);
        let path = folder.path().to_owned();
        match fill(&path) {
            Ok(content) => Ok((Self(path), content)),
            Err(error) => {
                *held = None;
                Err(error)
            }
        }
    }

    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        *held() = None;
    }
}

fn held() -> MutexGuard<'static, Option<TempDir>> {
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program as the signal would have.
#[cfg(unix)]
fn remove_on_signal() -> io::Result<()> {
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGHUP, SIGINT, SIGTERM])?;
    thread::spawn(move || {
        for signal in signals.forever() {
            let mut held = held();
            *held = None;
            let _ = emulate_default_handler(signal);
        }
    });
    Ok(())
}

#[cfg(not(unix))]
fn remove_on_signal() -> io::Result<()> {
    Ok(())
}
