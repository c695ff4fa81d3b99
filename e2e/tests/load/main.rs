//! How long two policy-servers behind one Service take, each kind of request beside the same request to a guest that does next to
//! nothing, in turns. Rewrites the table in docs/load.md.

#![expect(clippy::expect_used, clippy::indexing_slicing, reason = "a measurement fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stable_hooks_e2e::cluster::wait_for;
use stable_hooks_e2e::kubewarden::{SERVER, Stack};

#[path = "../../../tests/it/fuel/record.rs"]
#[expect(dead_code, reason = "the benchmark asks for more of it")]
mod record;

const CONNECTIONS: usize = 16;
const ROUNDS: usize = 4;
const MARKS: [&str; 2] = ["<!-- begin load -->\n", "<!-- end load -->"];
const FLOOR: &str = "clusterwide-yardstick";

struct Kind {
    name: String,
    policy: &'static str,
    body: Vec<u8>,
    /// In each round.
    requests: usize,
}

fn main() -> Result<()> {
    ensure!(Stack::enter()?, "this machine allows no network namespace (unshare --net, ip link)");
    let stack = Stack::start()?;
    serve(&stack)?;
    let server = if Stack::is_real() { "policy-server" } else { "the stand-in" };
    let mut table = format!(
        "Two of {server} on {} cores, {CONNECTIONS} connections, {ROUNDS} rounds.\n\n\
         | request | bytes | requests | p50 | floor | ratio | p99 | floor | ratio |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        std::thread::available_parallelism()?
    );
    for kind in kinds()? {
        table.push_str(&measured(&stack, &kind)?);
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/load.md");
    let text = fs::read_to_string(&page)?;
    let (before, rest) = text.split_once(MARKS[0]).context("the page has no place for the table")?;
    let (_, after) = rest.split_once(MARKS[1]).context("the table has no end")?;
    fs::write(page, format!("{before}{}\n{table}\n{}{after}", MARKS[0], MARKS[1]))?;
    Ok(())
}

/// Applies what we ship, and the yardstick on the same servers.
fn serve(stack: &Stack) -> Result<()> {
    let manifests = concat!(env!("CARGO_MANIFEST_DIR"), "/../policy/manifests/base");
    let kubectl = stack.world.tools.kubernetes.join("kubectl");
    let mut command = Command::new(kubectl);
    command.args(["apply", "-k", manifests]).env("KUBECONFIG", &stack.world.plane.kubeconfig);
    ensure!(command.status()?.success(), "the manifests are not applied");
    stack.world.cluster().create(&json!({
        "apiVersion": "policies.kubewarden.io/v1", "kind": "ClusterAdmissionPolicy",
        "metadata": {"name": "yardstick"},
        "spec": {
            "policyServer": SERVER, "mode": "protect", "mutating": false, "settings": {},
            "module": concat!("registry://ghcr.io/stable-hooks/policies/yardstick:v", env!("CARGO_PKG_VERSION")),
            // Nobody else asks it.
            "rules": [{"apiGroups": ["batch"], "apiVersions": ["v1"], "resources": ["jobs"], "operations": ["CREATE"]}],
            "objectSelector": {"matchLabels": {"measured": "never"}},
        },
    }));
    wait_for("all policies are active", || {
        let policies = stack.world.cluster().list("ClusterAdmissionPolicy", "");
        let is_active = |policy: &Value| policy["status"]["policyStatus"] == "active";
        (policies.len() == 3 && policies.iter().all(is_active)).then_some(())
    });
    Ok(())
}

fn kinds() -> Result<Vec<Kind>> {
    let review = |request: &Value| json!({"request": request}).to_string().into_bytes();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/2-create-hook-job.json");
    let job: Value = serde_json::from_slice(&fs::read(path)?)?;
    let job = job.get("request").cloned().unwrap_or(job);
    let mut kinds = vec![Kind {
        name: "a hook Job, normalized".to_owned(),
        policy: "clusterwide-stable-hooks",
        body: review(&job),
        requests: 1000,
    }];
    for (documents, requests) in [(28, 500), (200, 250), (record::DOCUMENTS_OF_ONE_MIB, 32)] {
        kinds.push(Kind {
            name: format!("a record of {documents} documents"),
            policy: "clusterwide-stable-hooks-releases",
            body: review(&request(documents)),
            requests,
        });
    }
    Ok(kinds)
}

/// policy-server wants more of a request than the policy does.
fn request(documents: usize) -> Value {
    let mut request = record::packed(documents).request;
    request["resource"] = json!({"group": "", "version": "v1", "resource": "secrets"});
    request
}

/// A line of the table.
fn measured(stack: &Stack, kind: &Kind) -> Result<String> {
    let (mut own, mut floor) = (Vec::new(), Vec::new());
    // The first round fills caches.
    for round in 0..=ROUNDS {
        for (policy, taken) in [(kind.policy, &mut own), (FLOOR, &mut floor)] {
            let round_taken = stack.post_many(policy, &kind.body, CONNECTIONS, kind.requests)?;
            taken.extend(round_taken.into_iter().filter(|_| round > 0));
        }
    }
    own.sort();
    floor.sort();
    let mut line = format!("| {} | {} | {} |", kind.name, kind.body.len(), own.len());
    for percent in [50, 99] {
        let [own, floor] = [&own, &floor].map(|taken| milliseconds(taken[taken.len() * percent / 100]));
        write!(line, " {own:.1} ms | {floor:.1} ms | {:.2} |", own / floor)?;
    }
    Ok(line + "\n")
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1000.0
}
