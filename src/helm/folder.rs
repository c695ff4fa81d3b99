//! A temporary folder that is gone however the program ends, also on Ctrl-C.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockWriteGuard};

use tempfile::TempDir;

/// At most one, so that a signal finds it. Who changes what is in it reads the lock: a signal waits for that, or it would
/// remove half of it.
static FOLDER: RwLock<Option<TempDir>> = RwLock::new(None);

/// The folder, as long as this lives.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder.
    ///
    /// # Errors
    ///
    /// When there can be no such folder.
    pub fn new() -> io::Result<Self> {
        remove_on_signal()?;
        let mut held = held();
        let folder = held.insert(private()?);
        Ok(Self(folder.path().to_owned()))
    }

    /// Makes the folder and fills it.
    ///
    /// # Errors
    ///
    /// When there can be no such folder, or it cannot be filled.
    pub fn filled<T>(fill: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<(Self, T)> {
        let folder = Self::new()?;
        let content = folder.change(fill)?;
        Ok((folder, content))
    }

    /// Changes what is in it; several threads may do so at once.
    pub fn change<T>(&self, change: impl FnOnce(&Path) -> T) -> T {
        let _held = FOLDER.read().unwrap_or_else(PoisonError::into_inner);
        change(&self.0)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        *held() = None;
    }
}

/// For nobody but the owner: left alone, the umask would let others in.
fn private() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("stable-hooks-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

fn held() -> RwLockWriteGuard<'static, Option<TempDir>> {
    FOLDER.write().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the program as the signal would have.
#[cfg(unix)]
fn remove_on_signal() -> io::Result<()> {
    use std::thread;

    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let mut signals = Signals::new([SIGHUP, SIGINT, SIGQUIT, SIGTERM])?;
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
