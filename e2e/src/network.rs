//! A network that nobody else reaches, for programs that listen on every interface.

use std::env;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

/// Set for the program that is in there already.
const INSIDE: &str = "STABLE_HOOKS_E2E_IN_ITS_OWN_NETWORK";

/// Root may make a namespace; anybody else may inside a user namespace, where the machine allows those.
const WAYS: [&[&str]; 2] = [&["--net"], &["--map-root-user", "--net"]];

/// Starts this very program anew, in a network namespace with a loopback interface and nothing else; whether it is in there.
///
/// What comes from the network is fetched before. Where the machine allows no namespace this does nothing.
#[must_use]
pub fn enter() -> bool {
    if env::var_os(INSIDE).is_some() {
        return true;
    }
    let Some(way) = WAYS.into_iter().find(|way| is_allowed(way)) else { return false };
    let program = env::current_exe().expect("this program has a path");
    let error = Command::new("unshare")
        .args(way)
        .args(["--", "sh", "-c", r#"ip link set lo up && exec "$@""#, "sh"])
        .arg(program)
        .args(env::args_os().skip(1))
        .env(INSIDE, "yes")
        .exec();
    panic!("cannot start anew in a network namespace: {error}");
}

/// The same; where the machine allows none this says so and goes on.
#[expect(clippy::print_stderr, reason = "a test run tells what is open")]
pub fn leave() {
    if !enter() {
        eprintln!(
            "WARNING: this machine allows no network namespace (unshare --net, ip link), so while this runs the metrics \
             of Argo CD's controller are open on EVERY interface"
        );
    }
}

fn is_allowed(way: &[&str]) -> bool {
    let tried =
        Command::new("unshare").args(way).args(["--", "ip", "link", "set", "lo", "up"]).stderr(Stdio::null()).status();
    tried.is_ok_and(|status| status.success())
}
