//! Argo CD on the control plane, without its user interface: what it renders, compares and syncs is all there.

mod application;

pub use application::{Application, Sync};

use std::ffi::OsString;
use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::control_plane::{Servers, free_ports};
use crate::helm::run;
use crate::network;
use crate::process::{Process, mortal};
use crate::tools::{self, Tools};
use crate::world::World;

/// Where Argo CD's own objects are.
const NAMESPACE: &str = "argocd";

/// A world with Argo CD in it.
pub struct ArgoWorld {
    // Ended first, so that it misses no API server.
    _processes: Vec<Process>,
    pub world: World,
    /// The controller's log, one JSON object a line.
    log: PathBuf,
}

impl ArgoWorld {
    /// Starts everything, in a network of its own; the thread that calls this has to live until the end.
    pub fn start() -> Result<Self> {
        let programs = tools::build("argocd")?;
        let miniredis = tools::build("miniredis")?.join("miniredis");
        let _ = Tools::build()?;
        network::leave();
        let world = World::start()?;
        install(&world, &programs)?;
        let folder = world.plane.folder().join("argocd");
        fs::create_dir_all(folder.join("tmp")).with_context(|| format!("cannot make {}", folder.display()))?;
        let mut servers = Servers::new(&folder);
        let environment = environment(&world, &folder)?;
        let start = |servers: &mut Servers<'_>, program: &Path, arguments: &[String]| {
            let mut command = mortal(program);
            command.args(arguments).envs(environment.iter().cloned());
            servers.spawn(command, &program.file_name().unwrap_or_default().to_string_lossy())
        };
        let [redis, repo_server, repo_metrics, controller_metrics] = free_ports()?;
        let address = |port: u16| format!("127.0.0.1:{port}");

        start(&mut servers, &miniredis, &[address(redis)])?;
        servers.wait_for("Redis", || TcpStream::connect(address(redis)).is_ok())?;
        start(
            &mut servers,
            &programs.join("argocd-repo-server"),
            &[
                "--address=127.0.0.1".to_owned(),
                format!("--port={repo_server}"),
                "--metrics-address=127.0.0.1".to_owned(),
                format!("--metrics-port={repo_metrics}"),
                format!("--redis={}", address(redis)),
                "--disable-tls".to_owned(),
            ],
        )?;
        servers.wait_for("Argo CD's repository server", || TcpStream::connect(address(repo_server)).is_ok())?;
        start(
            &mut servers,
            &programs.join("argocd-application-controller"),
            &[
                format!("--kubeconfig={}", world.plane.kubeconfig.display()),
                format!("--namespace={NAMESPACE}"),
                // Argo CD opens it on every interface: it has no flag for the address.
                format!("--metrics-port={controller_metrics}"),
                // What a missed event holds up goes on after so many seconds, well within our patience.
                "--app-resync=30".to_owned(),
                "--app-resync-jitter=0".to_owned(),
                format!("--repo-server={}", address(repo_server)),
                "--repo-server-plaintext".to_owned(),
                format!("--redis={}", address(redis)),
            ],
        )?;
        servers.wait_for("Argo CD's controller", || TcpStream::connect(address(controller_metrics)).is_ok())?;
        let log = folder.join("argocd-application-controller.log");
        Ok(Self { _processes: servers.last_first(), world, log })
    }

    /// The API server's warnings about objects of a namespace; Argo CD logs them and shows them nowhere else.
    #[must_use]
    pub fn warnings(&self, namespace: &str) -> Vec<String> {
        let log = fs::read_to_string(&self.log).expect("the controller writes its log");
        let messages = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let warnings = messages.filter_map(|message| {
            let warning = message.get("msg")?.as_str()?.strip_prefix("Warning: ")?;
            warning.contains(&format!(" {namespace}/")).then(|| warning.to_owned())
        });
        warnings.collect()
    }
}

/// Argo CD calls git and Helm by their names, and nothing of the caller's configuration gets in.
fn environment(world: &World, folder: &Path) -> Result<Vec<(&'static str, OsString)>> {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    let paths = std::iter::once(world.tools.helm3.clone()).chain(std::env::split_paths(&paths));
    let folder = OsString::from(folder);
    Ok(vec![
        ("PATH", std::env::join_paths(paths)?),
        ("HOME", folder.clone()),
        ("TMPDIR", Path::new(&folder).join("tmp").into()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("KUBECONFIG", world.plane.kubeconfig.clone().into()),
        // The cluster that the kubeconfig names is the one that it deploys to.
        ("ARGOCD_FAKE_IN_CLUSTER", "true".into()),
        ("ARGOCD_GPG_ENABLED", "false".into()),
        ("ARGOCD_TLS_DATA_PATH", folder.clone()),
        ("ARGOCD_SSH_DATA_PATH", folder),
    ])
}

/// What Argo CD wants in the cluster, from its own manifests, and a project that may do everything.
fn install(world: &World, programs: &Path) -> Result<()> {
    world.cluster().create(&json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}));
    let kubectl: PathBuf = world.tools.kubernetes.join("kubectl");
    for manifests in ["crds", "config"] {
        let mut command = mortal(&kubectl);
        command
            .args(["apply", "--server-side", "--namespace", NAMESPACE, "--kustomize"])
            .arg(programs.join(manifests))
            .env("KUBECONFIG", &world.plane.kubeconfig);
        let run = run(command, &format!("kubectl apply --kustomize {manifests}"));
        ensure!(run.success, "`{}` failed: {}", run.command, run.stderr);
    }
    crate::cluster::wait_for("Argo CD's kinds", || {
        world.cluster().try_find("argoproj.io/v1alpha1", "AppProject", NAMESPACE, "default").ok()
    });
    world.cluster().create(&json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "AppProject",
        "metadata": {"name": "default", "namespace": NAMESPACE},
        "spec": {
            "sourceRepos": ["*"],
            "destinations": [{"namespace": "*", "server": "*"}],
            "clusterResourceWhitelist": [{"group": "*", "kind": "*"}],
        },
    }));
    Ok(())
}
