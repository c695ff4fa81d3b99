//! The Helm plugins, installed by the real Helm 3 and Helm 4: from git, and as the packages that Helm 4 verifies.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::release::{VERSION, change, platform, release};
use super::{TOOLS, assert_is_the_program, is_required, names, only};
use crate::cli::{code, stderr, stdout};
use crate::engines::root;
use crate::helms::{command, folder, helms, is_helm_4, path_with};

/// One Helm with an empty home, and nothing of ours on its PATH.
struct Scene {
    helm: PathBuf,
    home: PathBuf,
    path: Vec<PathBuf>,
}

impl Scene {
    fn new(name: &str, helm: &Path) -> Self {
        let of_git = ["git", "basename", "env", "grep", "sed"];
        let path = vec![only(&format!("{name}-path"), &[&TOOLS[..], &["curl"], &of_git].concat())];
        Self { helm: helm.to_owned(), home: folder(name), path }
    }

    fn run(&self, releases: &str, arguments: &[&str]) -> Output {
        let path: Vec<_> = self.path.iter().map(PathBuf::as_path).collect();
        let mut helm = command(&self.helm, &path);
        for folder in ["HELM_DATA_HOME", "HELM_CONFIG_HOME", "HELM_CACHE_HOME"] {
            helm.env(folder, self.home.join(folder));
        }
        helm.env("STABLE_HOOKS_RELEASES", releases).env("GIT_CONFIG_GLOBAL", "/dev/null").args(arguments);
        helm.output().unwrap()
    }

    fn succeeds(&self, releases: &str, arguments: &[&str]) -> String {
        let output = self.run(releases, arguments);
        assert_eq!(code(&output), 0, "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output)
    }

    fn fails(&self, releases: &str, arguments: &[&str]) -> String {
        let output = self.run(releases, arguments);
        assert_eq!(code(&output), 1, "{arguments:?}: {}{}", stdout(&output), stderr(&output));
        stdout(&output) + &stderr(&output)
    }

    /// The folder with all plugins.
    fn plugins(&self) -> PathBuf {
        self.home.join("HELM_DATA_HOME/plugins")
    }

    /// The folder with the program of the plugin that is installed under this name.
    fn programs(&self, plugin: &str) -> PathBuf {
        self.plugins().join(plugin).join("bin")
    }
}

/// The plugin's files alone, as somebody's clone has them.
fn clone(name: &str) -> PathBuf {
    let clone = folder(name).join("stable-hooks");
    fs::create_dir(&clone).unwrap();
    for file in ["plugin.yaml", "install.sh"] {
        fs::copy(root().join(file), clone.join(file)).unwrap();
    }
    clone
}

fn git(folder: &Path, arguments: &[&str]) {
    let path = [Path::new("/usr/bin"), Path::new("/bin")];
    let mut git = command("git", &path);
    git.current_dir(folder).env("GIT_CONFIG_GLOBAL", "/dev/null");
    let output =
        git.args(["-c", "user.name=test", "-c", "user.email=test@example.com"]).args(arguments).output().unwrap();
    assert_eq!(code(&output), 0, "{arguments:?}: {}", stderr(&output));
}

#[test]
fn install_as_a_plugin_from_git_and_update() {
    if !is_required("git") {
        return;
    }
    let release = release();
    let clone = clone("install-git-clone");
    git(&clone, &["init", "--quiet", "."]);
    git(&clone, &["add", "."]);
    git(&clone, &["commit", "--quiet", "--message", "A release"]);
    git(&clone, &["tag", &format!("v{VERSION}")]);
    let served = release.served("stable-hooks.git");
    git(&clone, &["clone", "--quiet", "--bare", ".", served.to_str().unwrap()]);
    git(&served, &["update-server-info"]);
    let source = format!("{}/stable-hooks.git", release.address);
    for (number, helm) in helms().iter().enumerate() {
        let scene = Scene::new(&format!("install-git-{number}"), helm);
        let mut install = vec!["plugin", "install", &source, "--version", VERSION];
        if is_helm_4(helm) {
            let refused = scene.fails(&release.address, &install);
            assert!(refused.contains("Use --verify=false to skip verification"), "{refused}");
            install.push("--verify=false");
        }
        scene.succeeds(&release.address, &install);
        let programs = scene.programs("stable-hooks.git");
        assert_eq!(names(&programs), ["stable-hooks"]);
        assert_eq!(scene.succeeds("", &["stable-hooks", "--version"]), format!("stable-hooks {VERSION}\n"));
        fs::remove_file(programs.join("stable-hooks")).unwrap();
        scene.succeeds(&release.address, &["plugin", "update", "stable-hooks"]);
        assert_is_the_program(&programs.join("stable-hooks"));
    }
}

#[test]
fn install_as_a_plugin_takes_the_program_of_its_version_from_the_path_or_says_what_is_missing() {
    for (number, helm) in helms().iter().enumerate() {
        let clone = clone(&format!("install-offline-clone-{number}"));
        let mut scene = Scene::new(&format!("install-offline-{number}"), helm);
        let install = ["plugin", "install", clone.to_str().unwrap()];
        let nobody = "http://127.0.0.1:1";
        let said = scene.fails(nobody, &install);
        assert!(said.contains(&format!("cannot download {nobody}/v{VERSION}/SHA256SUMS: ")), "{said}");
        let mend =
            "The plugin has no program. Mend that, then: helm plugin uninstall stable-hooks, and install it again.";
        assert!(said.contains(mend), "{said}");
        assert!(names(&clone.join("bin")).is_empty());
        scene.succeeds(nobody, &["plugin", "uninstall", "stable-hooks"]);
        let other = crate::helms::path_with_script(
            &format!("install-offline-other-{number}"),
            "stable-hooks",
            "echo stable-hooks 0.0.1",
        );
        scene.path.insert(0, other);
        scene.fails(nobody, &install);
        scene.succeeds(nobody, &["plugin", "uninstall", "stable-hooks"]);
        scene.path.insert(0, path_with(&format!("install-offline-programs-{number}"), helm));
        let said = scene.succeeds(nobody, &install);
        assert!(said.contains(&format!("stable-hooks {VERSION}: the one on the PATH, ")), "{said}");
        assert_is_the_program(&clone.join("bin/stable-hooks"));
        assert_eq!(scene.succeeds(nobody, &["stable-hooks", "--version"]), format!("stable-hooks {VERSION}\n"));
    }
}

/// Puts both packages into a folder, signed with a key that is thrown away; the public half is beside them.
fn sign(helm: &Path, packages: &Path) {
    // The path of its agent's socket must be short.
    let home = tempfile::tempdir().unwrap();
    let gpg = |arguments: &[&str]| {
        let mut gpg = Command::new("gpg");
        gpg.env("GNUPGHOME", home.path()).args([
            "--batch",
            "--quiet",
            "--pinentry-mode",
            "loopback",
            "--passphrase",
            "",
        ]);
        let output = gpg.args(arguments).output().unwrap();
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        output.stdout
    };
    gpg(&["--quick-generate-key", "stable-hooks test <test@example.com>", "default", "default", "never"]);
    let secret = home.path().join("secret.gpg");
    fs::write(&secret, gpg(&["--export-secret-keys"])).unwrap();
    fs::write(packages.join("stable-hooks-plugins.gpg"), gpg(&["--export"])).unwrap();
    let mut pack = Command::new(root().join("tools/plugins"));
    pack.arg(packages).args(["--key", "stable-hooks test", "--keyring"]).arg(&secret).env("HELM", helm);
    let output = pack.output().unwrap();
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let _ = Command::new("gpgconf").env("GNUPGHOME", home.path()).args(["--kill", "all"]).output();
}

#[test]
fn install_as_a_signed_plugin_of_helm_4() {
    let Some(helm) = helms().iter().find(|helm| is_helm_4(helm)) else { return };
    if !is_required("gpg") || !is_required("gpg-agent") {
        return;
    }
    let (releases, packages) = release().copy("signed");
    sign(helm, &packages);
    let key = packages.join("stable-hooks-plugins.gpg");
    let scene = Scene::new("install-signed", helm);
    let package = |name: &str| format!("{releases}/v{VERSION}/{name}-{VERSION}.tgz");
    let install = |name: &str| {
        scene.succeeds(&releases, &["plugin", "install", &package(name), "--keyring", key.to_str().unwrap()])
    };

    let unknown = scene.fails(&releases, &["plugin", "install", &package("stable-hooks")]);
    assert!(unknown.contains("plugin verification failed") || unknown.contains("keyring"), "{unknown}");
    assert!(names(&scene.plugins()).is_empty());

    assert!(install("stable-hooks").contains("Signed by: stable-hooks test"));
    assert_eq!(names(&scene.programs("stable-hooks")), ["stable-hooks"]);
    assert_eq!(scene.succeeds("", &["stable-hooks", "--version"]), format!("stable-hooks {VERSION}\n"));

    install("stable-hooks-fix");
    let chart = root().join("e2e/charts/never-deleted");
    let chart = chart.to_str().unwrap();
    let plain = scene.succeeds("", &["template", "orders", chart]);
    let mended = scene.succeeds("", &["template", "orders", chart, "--post-renderer", "stable-hooks-fix"]);
    assert!(!plain.contains("before-hook-creation") && mended.contains("before-hook-creation"), "{mended}");

    // Whoever changes both the archive and the list beside it is found out by the list in the package.
    scene.succeeds("", &["plugin", "uninstall", "stable-hooks"]);
    let archive = format!("stable-hooks-without-runtime-{}.tar.gz", platform());
    change(&packages.join(archive), |bytes| bytes.push(0));
    fs::remove_file(packages.join("SHA256SUMS")).unwrap();
    let said =
        scene.fails(&releases, &["plugin", "install", &package("stable-hooks"), "--keyring", key.to_str().unwrap()]);
    assert!(said.contains("; the download is damaged, or somebody changed it. Nothing is installed"), "{said}");
    assert!(names(&scene.programs("stable-hooks")).is_empty());
    scene.succeeds("", &["plugin", "uninstall", "stable-hooks"]);

    change(&packages.join(format!("stable-hooks-{VERSION}.tgz")), |bytes| bytes.push(0));
    let changed =
        scene.fails(&releases, &["plugin", "install", &package("stable-hooks"), "--keyring", key.to_str().unwrap()]);
    assert!(changed.contains("plugin verification failed"), "{changed}");
    assert!(!scene.plugins().join("stable-hooks").exists());
}
