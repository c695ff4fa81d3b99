//! The `git` on the PATH: a chart as it was at a revision, without touching the work tree or its index.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use thiserror::Error;

/// Set in git's own hooks, they would name another repository or another index than those of the folder that is asked.
const OF_HOOKS: [&str; 4] = ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"];

/// The mode of a symbolic link.
const LINK: &[u8] = b"120000 ";

/// Why there is no chart of that revision.
#[derive(Debug, Error)]
pub(crate) enum GitError {
    #[error("there is no `git` on the PATH, which reads the chart of another revision")]
    Missing,
    #[error("cannot run git: {0}")]
    Run(io::Error),
    #[error("`{}` is in no git repository: {said}", folder.display())]
    NoRepository { folder: PathBuf, said: String },
    #[error(
        "git does not know the revision `{revision}`, and this is a shallow clone, which lacks older ones: fetch it \
         (`git fetch origin BRANCH`), or clone with the history (in GitHub Actions `fetch-depth: 0`, in GitLab \
         `GIT_DEPTH: 0`)"
    )]
    Shallow { revision: String },
    #[error("git does not know the revision `{revision}`: {said}")]
    NoRevision { revision: String, said: String },
    #[error("git cannot write out `{revision}`: {said}")]
    Checkout { revision: String, said: String },
}

/// A folder of a repository at one revision.
pub(crate) struct Tree {
    repository: PathBuf,
    revision: String,
    /// The folder's path in the repository, with a slash at its end; empty for the repository itself.
    prefix: String,
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
        let tree = Self { repository: line(&root).into(), revision: revision.to_owned(), prefix: line(&prefix) };
        let commit = format!("{revision}^{{commit}}");
        let known = run(tree.git(None).args(["rev-parse", "--verify", "--end-of-options", &commit]))?;
        if known.status.success() {
            return Ok(tree);
        }
        let revision = revision.to_owned();
        Err(match line(&run(tree.git(None).args(["rev-parse", "--is-shallow-repository"]))?).as_str() {
            "true" => GitError::Shallow { revision },
            _ => GitError::NoRevision { revision, said: said(&known) },
        })
    }

    /// A file of the folder; `None` where the revision has none of that name.
    ///
    /// # Errors
    ///
    /// When git cannot be run.
    pub(crate) fn file(&self, name: &str) -> Result<Option<Vec<u8>>, GitError> {
        let object = format!("{}:{}{name}", self.revision, self.prefix);
        let shown = run(self.git(None).args(["cat-file", "blob", &object]))?;
        Ok(shown.status.success().then_some(shown.stdout))
    }

    /// Writes the folder out below another one, and all else of the repository where `whole` or a link may lead there.
    ///
    /// # Errors
    ///
    /// When git cannot read the revision, or the files cannot be written.
    pub(crate) fn write(&self, into: &Path, whole: bool) -> Result<PathBuf, GitError> {
        let index = into.join("index");
        let done = |output: Output| {
            let failed = || GitError::Checkout { revision: self.revision.clone(), said: said(&output) };
            if output.status.success() { Ok(output.stdout) } else { Err(failed()) }
        };
        done(run(self.git(Some(&index)).args(["read-tree", &self.revision]))?)?;
        let list = |folder: &str| done(run(self.git(Some(&index)).args(["ls-files", "-sz", "--", folder]))?);
        let folder = if self.prefix.is_empty() { "." } else { &self.prefix };
        let mut entries = list(folder)?;
        if whole || entries.split(|byte| *byte == 0).any(|entry| entry.starts_with(LINK)) {
            entries = list(".")?;
        }
        // Mode, object and stage stand before a tab.
        let names = entries.split(|byte| *byte == 0).filter_map(|entry| entry.splitn(2, |byte| *byte == b'\t').nth(1));
        let names = names.collect::<Vec<_>>().join(&0);
        let tree = into.join("tree");
        let mut prefix = OsString::from("--prefix=");
        prefix.push(tree.join(""));
        let mut checkout = self.git(Some(&index));
        checkout.arg("checkout-index").arg(prefix).args(["-z", "--stdin"]);
        done(run_with(&mut checkout, &names)?)?;
        Ok(tree.join(&self.prefix))
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
    git.arg("-C").arg(folder);
    git
}

fn run(git: &mut Command) -> Result<Output, GitError> {
    run_with(git, b"")
}

fn run_with(git: &mut Command, input: &[u8]) -> Result<Output, GitError> {
    let git = git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = git.spawn().map_err(GitError::of_run)?;
    if let Some(mut stdin) = child.stdin.take() {
        // A git that has failed reads no further, and says why itself.
        let _ = stdin.write_all(input);
    }
    child.wait_with_output().map_err(GitError::of_run)
}

fn line(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).trim_end_matches(['\r', '\n']).to_owned()
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
