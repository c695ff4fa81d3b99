//! Under the Helm 4 that the variable HELM4 names.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use super::job;
use crate::cli::{stderr, stdout};
use crate::engines::root;

/// Helm with folders of its own, and this program on its path.
fn helm(home: &Path, arguments: &[&str]) -> Option<Output> {
    let Some(helm) = std::env::var_os("HELM4") else {
        assert!(std::env::var_os("CI").is_none(), "HELM4 has to name a Helm 4, and in CI it is not skipped");
        eprintln!("SKIPPED under Helm 4: HELM4 does not name it");
        return None;
    };
    let program = PathBuf::from(env!("CARGO_BIN_EXE_stable-hooks"));
    let output = Command::new(helm)
        .args(arguments)
        .env_clear()
        // The plugin's hook is a script.
        .env(
            "PATH",
            std::env::join_paths([program.parent().unwrap(), Path::new("/usr/bin"), Path::new("/bin")]).unwrap(),
        )
        .env("HOME", home)
        .current_dir(root())
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
    Some(output)
}

#[test]
fn fix_works_as_post_renderer_of_helm_4() {
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("helm4-home");
    let chart = home.join("chart");
    let _ = std::fs::remove_dir_all(&home);
    std::fs::create_dir_all(chart.join("templates")).unwrap();
    std::fs::write(chart.join("Chart.yaml"), "apiVersion: v2\nname: shop\nversion: 0.1.0\n").unwrap();
    let hook = job("    helm.sh/hook: pre-upgrade\n    helm.sh/hook-delete-policy: hook-failed\n");
    std::fs::write(chart.join("templates/job.yaml"), hook).unwrap();
    let chart = chart.to_str().unwrap();
    if helm(&home, &["plugin", "install", "plugins/post-renderer"]).is_none() {
        return;
    }
    let render = |more: &[&str]| {
        let arguments = [&["template", "shop", chart, "--post-renderer", "stable-hooks-fix"], more].concat();
        stdout(&helm(&home, &arguments).unwrap())
    };
    let rendered = render(&[]);
    assert!(rendered.contains("helm.sh/hook: pre-upgrade\n"), "{rendered}");
    assert!(rendered.contains("helm.sh/hook-delete-policy: before-hook-creation,hook-failed\n"), "{rendered}");
    let rendered = render(&["--post-renderer-args", "--complete-events"]);
    assert!(rendered.contains("helm.sh/hook: pre-install,pre-upgrade\n"), "{rendered}");
}

#[test]
fn fix_the_plugin_has_the_version_of_the_program() {
    let plugin = std::fs::read(root().join("plugins/post-renderer/plugin.yaml")).unwrap();
    let plugin = stable_hooks::input::value(&plugin).unwrap();
    assert_eq!(plugin["version"], env!("CARGO_PKG_VERSION"));
}
