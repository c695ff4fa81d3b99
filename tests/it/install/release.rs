//! A release as the workflow makes it, of the program that the tests have built, on a loopback server.

use std::fs;
use std::io::{Write, stderr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::cli::{code, stderr as said};
use crate::engines::root;
use crate::helms::folder;
use crate::server::serve;

pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

pub(super) struct Release {
    /// What `STABLE_HOOKS_RELEASES` is set to.
    pub(super) address: String,
    /// What the server serves.
    served: PathBuf,
}

/// Made once, for packing takes seconds.
pub(super) fn release() -> &'static Release {
    static RELEASE: OnceLock<Release> = OnceLock::new();
    RELEASE.get_or_init(|| {
        let served = folder("releases");
        fs::rename(pack("releases-packed"), served.join(format!("v{VERSION}"))).unwrap();
        Release { address: serve(served.clone()), served }
    })
}

impl Release {
    /// A file of this version.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.served.join(format!("v{VERSION}")).join(name)
    }

    /// The same release once more under this name: its address, and the folder of this version.
    pub(super) fn copy(&self, name: &str) -> (String, PathBuf) {
        let copy = self.served.join(name).join(format!("v{VERSION}"));
        fs::create_dir_all(&copy).unwrap();
        for entry in fs::read_dir(self.file("")).unwrap().map(Result::unwrap) {
            // Large; what is changed becomes a file of its own.
            fs::hard_link(entry.path(), copy.join(entry.file_name())).unwrap();
        }
        (format!("{}/{name}", self.address), copy)
    }

    /// The address of the same release with one file changed.
    pub(super) fn changed(&self, name: &str, file: &str, edit: impl FnOnce(&mut Vec<u8>)) -> String {
        let (address, copy) = self.copy(name);
        change(&copy.join(file), edit);
        address
    }

    pub(super) fn served(&self, name: &str) -> PathBuf {
        self.served.join(name)
    }
}

/// Changes a file, and no other that is linked to it.
pub(super) fn change(file: &Path, edit: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = fs::read(file).unwrap();
    edit(&mut bytes);
    fs::remove_file(file).unwrap();
    fs::write(file, bytes).unwrap();
}

/// Packs the program as `make dist` does, into a folder of this name.
pub(super) fn pack(name: &str) -> PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| {
        let stripped = folder("releases-program").join("stable-hooks");
        fs::copy(env!("CARGO_BIN_EXE_stable-hooks"), &stripped).unwrap();
        // With what a debugger wants it is some hundred megabytes.
        let strip = Command::new("strip").arg(&stripped).output().unwrap();
        assert_eq!(code(&strip), 0, "{}", said(&strip));
        stripped
    });
    let packed = folder(name);
    let output = Command::new(root().join("tools/dist")).arg(&packed).arg(program).output().unwrap();
    assert_eq!(code(&output), 0, "{}", said(&output));
    packed
}

/// As the archives name this machine.
pub(super) fn platform() -> String {
    let system = if cfg!(target_os = "macos") { "darwin" } else { "linux" };
    format!("{system}-{}", std::env::consts::ARCH)
}

/// Where this machine has the program.
pub(super) fn is_here(program: &str) -> Option<PathBuf> {
    let folders = ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin"];
    folders.into_iter().map(|folder| Path::new(folder).join(program)).find(|path| path.exists())
}

/// Not by a macro, whose words the test runner keeps to itself.
pub(super) fn skipped(what: &str) {
    stderr().write_all(format!("SKIPPED: {what}\n").as_bytes()).unwrap();
}
