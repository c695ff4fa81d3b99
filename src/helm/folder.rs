//! A temporary folder that is gone however the program ends, also on Ctrl-C.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, RwLock};

use tempfile::TempDir;

/// At most one, so that a signal finds it; never held for long.
static FOLDER: Mutex<Option<TempDir>> = Mutex::new(None);

/// Each change of what is in the folder holds a read lock: a signal waits for it, or it would remove half of it.
static CHANGES: RwLock<()> = RwLock::new(());

/// The folder, as long as this lives.
#[derive(Debug)]
pub struct Folder(PathBuf);

/// A folder in it, for one of several charts.
#[derive(Debug)]
pub struct Part<'a> {
    folder: &'a Folder,
    path: PathBuf,
}

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
        let _changing = CHANGES.read().unwrap_or_else(PoisonError::into_inner);
        change(&self.0)
    }

    /// Makes a folder in it.
    ///
    /// # Errors
    ///
    /// When there is one of that name, or the disk is full.
    pub fn part(&self, name: &str) -> io::Result<Part<'_>> {
        let path = self.0.join(name);
        self.change(|_| fs::create_dir(&path))?;
        Ok(Part { folder: self, path })
    }
}

impl Part<'_> {
    /// Changes what is in it; several threads may do so at once.
    pub fn change<T>(&self, change: impl FnOnce(&Path) -> T) -> T {
        self.folder.change(|_| change(&self.path))
    }

    /// Where another program writes into it.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        *held() = None;
    }
}

/// Only the owner can enter: left alone, the umask would let others in.
fn private() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("stable-hooks-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

fn held() -> MutexGuard<'static, Option<TempDir>> {
    FOLDER.lock().unwrap_or_else(PoisonError::into_inner)
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
            // Both guards are held to the end, so that no further change begins.
            let _unchanged = end_of_changes();
            let mut held = held();
            if let Some(folder) = held.take() {
                remove(&folder.keep());
            }
            let _ = emulate_default_handler(signal);
        }
    });
    Ok(())
}

/// Waits until no change goes on; `None` where that takes too long: a file server may hold one up for ever.
#[cfg(unix)]
fn end_of_changes() -> Option<std::sync::RwLockWriteGuard<'static, ()>> {
    use std::sync::TryLockError;
    use std::time::{Duration, Instant};

    let started = Instant::now();
    loop {
        match CHANGES.try_write() {
            Ok(unchanged) => return Some(unchanged),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if started.elapsed() > Duration::from_secs(1) => return None,
            Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Tries again where a change that still goes on has put something into a folder that was already emptied.
#[cfg(unix)]
fn remove(folder: &Path) {
    let is_gone = |_| std::fs::remove_dir_all(folder).is_ok() || !folder.exists();
    let _ = (0..10).any(is_gone);
}

#[cfg(not(unix))]
fn remove_on_signal() -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::fs;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;
    use std::thread::sleep;
    use std::time::{Duration, Instant};

    use super::Folder;

    #[test]
    #[ignore = "run by the next test, as a program of its own"]
    fn a_change_that_never_ends() {
        let folder = Folder::new().unwrap();
        folder.change(|path| {
            fs::write(path.join("begun"), "").unwrap();
            sleep(Duration::from_mins(1));
        });
    }

    #[test]
    fn a_signal_removes_the_folder_even_if_a_change_is_stuck() {
        let temporary = tempfile::tempdir().unwrap();
        let begun = || {
            let mut folders = fs::read_dir(temporary.path()).unwrap();
            folders.any(|folder| folder.unwrap().path().join("begun").exists())
        };
        for (signal, status) in [("INT", 2), ("TERM", 15)] {
            let mut child = Command::new(std::env::current_exe().unwrap())
                .args(["--exact", "--ignored", "helm::folder::tests::a_change_that_never_ends"])
                .env("TMPDIR", temporary.path())
                .spawn()
                .unwrap();
            let started = Instant::now();
            while !begun() && started.elapsed() < Duration::from_secs(20) {
                sleep(Duration::from_millis(10));
            }
            assert!(begun());
            let killed = Command::new("kill").args([&format!("-{signal}"), &child.id().to_string()]).status().unwrap();
            assert!(killed.success());
            assert_eq!(child.wait().unwrap().signal(), Some(status));
            assert!(started.elapsed() < Duration::from_secs(30));
            assert_eq!(fs::read_dir(temporary.path()).unwrap().count(), 0, "{signal}");
        }
    }
}
