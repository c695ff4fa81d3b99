//! Records in a real `PostgreSQL`, which no policy in the cluster sees.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::helm::Major;
use stable_hooks_e2e::scene::{Scene, history_text};
use stable_hooks_e2e::world::World;
use tempfile::TempDir;

use super::FLIP;

const ROOT: u32 = 0;
const NOBODY: u32 = 65534;

/// It has no line on the page, which is the same wherever it is written.
#[expect(clippy::print_stderr, reason = "a test run tells what it leaves out")]
pub(crate) fn in_postgresql(world: &World) {
    let Some(programs) = programs() else {
        assert!(std::env::var_os("CI").is_none(), "there is no PostgreSQL, and in CI this is not skipped");
        eprintln!(
            "SKIPPED: HELM_DRIVER=sql needs the programs of PostgreSQL, in /usr/lib/postgresql (package postgresql)"
        );
        return;
    };
    let server = Postgres::start(&programs);
    for major in Major::ALL {
        guarded(&server, &Scene::new(world, "in postgresql", major, None));
    }
}

fn guarded(server: &Postgres, scene: &Scene<'_>) {
    let mut scene = scene.clone();
    scene.helm.driver = "sql";
    scene.helm.variables.push(("HELM_DRIVER_SQL_CONNECTION_STRING".to_owned(), server.connection()));
    let flips = |options: &[&str]| scene.guarded(options).upgrade("orders", "upgrade-only-hook", &[]);
    let history = || history_text(&scene.helm.history("orders"));
    let install = scene.guarded(&[]).install("orders", "upgrade-only-hook", &[]).succeeds();
    assert!(install.stderr.contains("conditional-hook-template"), "{}", install.stderr);
    scene.settle();
    assert!(scene.cluster().list("Secret", &scene.namespace).is_empty(), "the records lie elsewhere");

    let before = scene.snapshot();
    let denied = flips(&[]).fails();
    assert_eq!(denied.code, Some(1), "{}", denied.stderr);
    assert!(denied.stderr.contains(&format!("deny {FLIP}")), "{}", denied.stderr);
    assert_eq!((scene.snapshot(), history()), (before, "1 deployed".to_owned()));

    let _ = flips(&["--accept", FLIP]).succeeds();
    let _ = flips(&[]).succeeds();
    assert_eq!(history(), "1 superseded, 2 superseded, 3 deployed");
    let back = scene.guarded(&[]).helm.run(&["rollback", "orders", "1"]);
    assert!(back.stderr.contains(&format!("warn {FLIP}")), "{}", back.stderr);
    assert!(history().contains("4 "), "{}", history());
}

/// A server of its own, on a socket that only its user and root reach.
struct Postgres {
    server: Child,
    folder: TempDir,
}

impl Postgres {
    fn start(programs: &Path) -> Self {
        let folder = tempfile::Builder::new().prefix("stable-hooks-postgres-").tempdir().expect("a folder");
        let path = folder.path();
        if is_owned_by(ROOT, path) {
            chown(path, Some(NOBODY), Some(NOBODY)).expect("the folder gets its owner");
        }
        fs::set_permissions(path, Permissions::from_mode(0o700)).expect("the folder is the owner's");
        let data = path.join("data");
        let made = as_nobody(path, &programs.join("initdb"))
            .args(["--auth=trust", "--username=helm", "--no-sync", "--pgdata"])
            .arg(&data)
            .output()
            .expect("initdb runs");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        let server = as_nobody(path, &programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(path)
            // No port.
            .args(["-c", "listen_addresses=", "-c", "fsync=off"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("PostgreSQL starts");
        let mut server = Self { server, folder };
        wait_for("PostgreSQL", || {
            assert!(server.server.try_wait().expect("its state is known").is_none(), "PostgreSQL has ended");
            let ready =
                Command::new(programs.join("pg_isready")).arg("-h").arg(server.folder.path()).arg("-q").status();
            ready.is_ok_and(|status| status.success()).then_some(())
        });
        server
    }

    fn connection(&self) -> String {
        format!("host={} user=helm dbname=postgres sslmode=disable", self.folder.path().display())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Killed it would leave its shared memory.
        let _ = Command::new("bash").args(["-c", &format!("kill -s INT {}", self.server.id())]).status();
        let _ = self.server.wait();
    }
}

fn is_owned_by(user: u32, folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|folder| folder.uid() == user)
}

/// `PostgreSQL` does not run as root. It ends when the thread that starts it does.
fn as_nobody(folder: &Path, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    if is_owned_by(NOBODY, folder) {
        let nobody = NOBODY.to_string();
        command.args(["--reuid", &nobody, "--regid", &nobody, "--clear-groups", "--", "setpriv"]);
    }
    command.args(["--pdeathsig", "INT", "--"]).arg(program).current_dir(folder);
    command
}

/// Where Debian has them, in the newest version.
fn programs() -> Option<PathBuf> {
    let versions =
        fs::read_dir("/usr/lib/postgresql").ok()?.filter_map(|version| Some(version.ok()?.path().join("bin")));
    versions.filter(|programs| programs.join("initdb").exists() && programs.join("postgres").exists()).max()
}
