//! The `git` on the PATH: a chart as it was at a revision, without touching the work tree or its index.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use thiserror::Error;

/// Set in git's own hooks, they would name another repository or another index than those of the folder that is asked.
const OF_HOOKS: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// The modes of a symbolic link and of a folder.
const LINK: &[u8] = b"120000 ";
const FOLDER: &[u8] = b"040000 ";

/// Why there is no chart of that revision.
#[derive(Debug, Error)]
pub(crate) enum GitError {
    #[error("there is no `git` on the PATH, which reads the chart of another revision")]
    Missing,
    #[error("cannot run git: {0}")]
    Run(io::Error),
    #[error("git finds no work tree around `{}`: {said}", folder.display())]
    NoRepository { folder: PathBuf, said: String },
    #[error(
        "git does not know the revision `{revision}`, and this is a shallow clone, which lacks older ones: fetch it \
         (`git fetch origin BRANCH`), or clone with the history (in GitHub Actions `fetch-depth: 0`, in GitLab \
         `GIT_DEPTH: 0`)"
    )]
    Shallow { revision: String },
    #[error("git does not know the revision `{revision}`: {said}")]
    NoRevision { revision: String, said: String },
    #[error("`{}` is a link or a submodule at `{revision}`, which cannot be followed; `--against` takes a folder", path.display())]
    NoFolder { path: PathBuf, revision: String },
    #[error("git cannot read `{revision}`: {said}")]
    Read { revision: String, said: String },
    #[error("`{revision}` cannot be written out: {reason}")]
    Write { revision: String, reason: io::Error },
}

/// How much of a repository is written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// The folder, and all of the repository where a link in it may lead out.
    Folder,
    Repository,
}

/// A folder of a repository at one revision.
#[derive(Debug, Clone)]
pub(crate) struct Tree {
    repository: PathBuf,
    /// As the user calls it.
    revision: String,
    /// What that was when it was asked for: a branch moves.
    commit: String,
    /// Where the folder is in the repository; empty for the repository itself.
    prefix: PathBuf,
}

/// The changes of a file.
pub(crate) struct History {
    /// The folder as each change left it, at the last commit before the next one; the newest first. A commit that deleted
    /// the file is none.
    pub(crate) trees: Vec<Tree>,
    /// The clone is shallow, and lacks the changes before.
    pub(crate) is_cut: bool,
}

impl Tree {
    /// Finds a folder at a revision: a branch, a tag or a commit.
    ///
    /// # Errors
    ///
    /// When the folder is in no repository, or the repository has no such revision.
    pub(crate) fn at(folder: &Path, revision: &str) -> Result<Self, GitError> {
        let ask = |question| run(command(folder).args(["rev-parse", question]));
        let (root, prefix) = (ask("--show-toplevel")?, ask("--show-prefix")?);
        if !root.status.success() {
            return Err(GitError::NoRepository { folder: folder.to_owned(), said: said(&root) });
        }
        let repository = path(line(&root.stdout));
        let commit = format!("{revision}^{{commit}}");
        let known = run(command(&repository).args(["rev-parse", "--verify", "--end-of-options", &commit]))?;
        if known.status.success() {
            let commit = String::from_utf8_lossy(line(&known.stdout)).into_owned();
            // Without the slash at its end, which would ask for what is in it.
            let prefix = path(line(&prefix.stdout)).components().collect();
            let tree = Self { repository, revision: revision.to_owned(), commit, prefix };
            return tree.checked();
        }
        let shallow = run(command(&repository).args(["rev-parse", "--is-shallow-repository"]))?;
        let revision = revision.to_owned();
        Err(match line(&shallow.stdout) {
            b"true" => GitError::Shallow { revision },
            _ => GitError::NoRevision { revision, said: said(&known) },
        })
    }

    /// The revision's own folders lead to it, no links.
    fn checked(self) -> Result<Self, GitError> {
        for path in self.prefix.ancestors().filter(|path| !path.as_os_str().is_empty()) {
            if self.entry(path)?.is_some_and(|entry| !entry.starts_with(FOLDER)) {
                return Err(GitError::NoFolder { path: path.to_owned(), revision: self.revision });
            }
        }
        Ok(self)
    }

    /// A file of the folder; `None` where the revision has none of that name.
    ///
    /// # Errors
    ///
    /// When git cannot read it.
    pub(crate) fn file(&self, name: impl AsRef<Path>) -> Result<Option<Vec<u8>>, GitError> {
        let Some(entry) = self.entry(&self.prefix.join(name))? else { return Ok(None) };
        let object = entry.split(|byte| [b' ', b'\t'].contains(byte)).nth(2).unwrap_or_default();
        let object = String::from_utf8_lossy(object);
        self.done(run(self.git(None).args(["cat-file", "blob", &object]))?).map(Some)
    }

    /// The changes of a file of the folder, also while it lay elsewhere in the repository.
    ///
    /// First parents alone are followed: only along them one commit is later than another, and a branch that is merged
    /// was never what the main line had.
    ///
    /// # Errors
    ///
    /// When git cannot read them.
    pub(crate) fn history(&self, name: &str) -> Result<History, GitError> {
        let mut log = self.git(None);
        // Without -m no merge is compared with its first parent.
        log.args(["log", "--follow", "--first-parent", "-m", "--name-status", "-z", "--no-show-signature"]);
        log.args(["--format=%H %P", &self.commit, "--"]).arg(self.prefix.join(name));
        let listed = self.done(run(&mut log)?)?;
        let mut words = listed.split(|byte| *byte == 0).map(|word| word.strip_prefix(b"\n").unwrap_or(word));
        let (mut trees, mut last, mut is_first) = (Vec::new(), Some(self.commit.clone()), false);
        while let (Some(commit), Some(status), Some(file)) = (words.next(), words.next(), words.next()) {
            let is_moved = status.starts_with(b"R") || status.starts_with(b"C");
            let file = path(if is_moved { words.next().unwrap_or(file) } else { file });
            // The file's name is the same wherever it lies.
            let prefix = file.parent().filter(|_| file.ends_with(name)).map(Path::to_owned);
            if let (Some(prefix), Some(commit), false) = (prefix, &last, status.starts_with(b"D")) {
                trees.push(Self { prefix, commit: commit.clone(), ..self.clone() });
            }
            let commit = String::from_utf8_lossy(commit);
            let mut ids = commit.split(' ').filter(|id| !id.is_empty());
            last = ids.nth(1).map(str::to_owned);
            is_first = last.is_none();
        }
        let is_cut = is_first && self.is_shallow()?;
        Ok(History { trees, is_cut })
    }

    /// The work tree has something else in the folder, or in the index; what git ignores does not count.
    ///
    /// # Errors
    ///
    /// When git cannot say.
    pub(crate) fn is_changed(&self) -> Result<bool, GitError> {
        let folder = if self.prefix.as_os_str().is_empty() { Path::new(".") } else { &self.prefix };
        let mut status = self.git(None);
        // Else git writes the times of the files to the index.
        status.env("GIT_OPTIONAL_LOCKS", "0");
        status.args(["status", "--porcelain", "-z", "--untracked-files=normal", "--"]).arg(folder);
        Ok(!self.done(run(&mut status)?)?.is_empty())
    }

    /// The same, as people call it.
    ///
    /// # Errors
    ///
    /// When a link or a submodule led to the folder.
    pub(crate) fn called(self, revision: String) -> Result<Self, GitError> {
        Self { revision, ..self }.checked()
    }

    /// As the user calls it.
    pub(crate) fn revision(&self) -> &str {
        &self.revision
    }

    /// The beginning of the commit's id.
    pub(crate) fn commit(&self) -> &str {
        self.commit.get(..10).unwrap_or(&self.commit)
    }

    fn is_shallow(&self) -> Result<bool, GitError> {
        let shallow = run(self.git(None).args(["rev-parse", "--is-shallow-repository"]))?;
        Ok(line(&shallow.stdout) == b"true")
    }

    /// Mode, type and object of what the revision has at a path.
    fn entry(&self, path: &Path) -> Result<Option<Vec<u8>>, GitError> {
        let listed = self.done(run(self.git(None).args(["ls-tree", "-z", &self.commit, "--"]).arg(path))?)?;
        Ok(Some(listed).filter(|listed| !listed.is_empty()))
    }

    /// Writes the folder out below another one, and gives its path there.
    ///
    /// # Errors
    ///
    /// When git cannot read the revision, or the files cannot be written.
    pub(crate) fn write(&self, into: &Path, extent: Extent) -> Result<PathBuf, GitError> {
        let index = into.join("index");
        self.done(run(self.git(Some(&index)).args(["read-tree", &self.commit]))?)?;
        let list = |path: &Path| self.done(run(self.git(Some(&index)).args(["ls-files", "-sz", "--"]).arg(path))?);
        let everything = Path::new(".");
        let folder = if self.prefix.as_os_str().is_empty() { everything } else { &self.prefix };
        let mut entries = list(folder)?;
        let has_links = entries.split(|byte| *byte == 0).any(|entry| entry.starts_with(LINK));
        if extent == Extent::Repository || has_links {
            entries = list(everything)?;
        }
        // Mode, object and stage stand before a tab.
        let names = entries.split(|byte| *byte == 0).filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let names = names.collect::<Vec<_>>().join(&0);
        let unwritten = |reason| GitError::Write { revision: self.revision.clone(), reason };
        // A pipe could fill while git complains.
        let list = into.join("names");
        fs::write(&list, names).map_err(unwritten)?;
        let tree = into.join("tree");
        let mut prefix = OsString::from("--prefix=");
        prefix.push(tree.join(""));
        let mut checkout = self.git(Some(&index));
        checkout.arg("checkout-index").arg(prefix).args(["-z", "--stdin"]);
        checkout.stdin(File::open(&list).map_err(unwritten)?);
        self.done(checkout.output().map_err(GitError::of_run)?)?;
        Ok(tree.join(&self.prefix))
    }

    fn done(&self, output: Output) -> Result<Vec<u8>, GitError> {
        let failed = |output| GitError::Read { revision: self.revision.clone(), said: said(output) };
        if output.status.success() { Ok(output.stdout) } else { Err(failed(&output)) }
    }

    fn git(&self, index: Option<&Path>) -> Command {
        let mut git = command(&self.repository);
        git.envs(index.map(|index| ("GIT_INDEX_FILE", index)));
        git
    }
}

fn command(folder: &Path) -> Command {
    let mut git = Command::new("git");
    for name in OF_HOOKS {
        git.env_remove(name);
    }
    // A folder's name may begin as a pattern does.
    git.arg("-C").arg(folder).arg("--literal-pathspecs");
    git
}

fn run(git: &mut Command) -> Result<Output, GitError> {
    git.stdin(Stdio::null()).output().map_err(GitError::of_run)
}

fn line(output: &[u8]) -> &[u8] {
    let line = output.strip_suffix(b"\n").unwrap_or(output);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(unix)]
fn path(bytes: &[u8]) -> PathBuf {
    <OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes.to_owned()).into()
}

#[cfg(not(unix))]
fn path(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// Git's words in one line.
fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).lines().map(str::trim).collect::<Vec<_>>().join(" ")
}

impl GitError {
    fn of_run(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::NotFound { Self::Missing } else { Self::Run(error) }
    }
}
