//! Everything that is started once.

use std::thread;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::control_plane::ControlPlane;
use crate::tools::Tools;
use crate::webhook::{Options, Policies, Webhook};

/// The webhooks that scenarios share, by the label of the namespaces that they watch.
pub const LIVE: &str = "live";
pub const RECORDS: &str = "records";
/// It denies what rules only warn of as they are shipped.
pub const STRICT: &str = "strict";

pub struct World {
    pub tools: Tools,
    /// `None` where no webhook watches.
    policies: Option<Policies>,
    _webhooks: Vec<Webhook>,
    pub plane: ControlPlane,
}

impl World {
    /// Starts everything; the thread that calls this has to live until the end.
    pub fn start() -> Result<Self> {
        let tools = Tools::build()?;
        let compiling = thread::spawn(Policies::load);
        let plane = ControlPlane::start(&tools)?;
        let policies = compiling.join().map_err(|_| anyhow!("compiling the policies panicked"))??;
        let start = |name: &str, may: &Value| {
            webhook(&plane, &policies, name, &Options { settings: settings(name), ..Options::default() }, may)
        };
        let live = start(LIVE, &looks_at_objects())?;
        let records = start(RECORDS, &looks_at_records())?;
        let strict = start(STRICT, &looks_at_objects())?;
        Ok(Self { tools, policies: Some(policies), _webhooks: vec![live, records, strict], plane })
    }

    /// The same without any webhook, whose wasm takes most of the start.
    pub fn without_webhooks() -> Result<Self> {
        let tools = Tools::build()?;
        let plane = ControlPlane::start(&tools)?;
        Ok(Self { tools, policies: None, _webhooks: Vec::new(), plane })
    }

    /// A control plane that was started otherwise.
    #[must_use]
    pub fn of(tools: Tools, plane: ControlPlane) -> Self {
        Self { tools, policies: None, _webhooks: Vec::new(), plane }
    }

    #[must_use]
    pub fn cluster(&self) -> &Cluster {
        &self.plane.cluster
    }

    /// A webhook for one scenario, whose server may do in the cluster what these RBAC rules say.
    pub fn webhook(&self, name: &str, options: &Options, may: &Value) -> Webhook {
        let policies = self.policies.as_ref().expect("a world with webhooks");
        webhook(&self.plane, policies, name, options, may).expect("the webhook starts")
    }
}

/// The settings of a webhook that scenarios share.
#[must_use]
pub fn settings(webhook: &str) -> Value {
    match webhook {
        RECORDS => json!({"releases": {"baseline": "record"}, "rules": {"hook-stale-dependency": "deny"}}),
        STRICT => json!({"rules": {"hook-missing-rbac": "deny", "shared-hook-object": "deny"}}),
        _ => json!({}),
    }
}

/// The least that the releases policy wants: it looks at the live objects that a record names.
#[must_use]
pub fn looks_at_objects() -> Value {
    json!([may_get("batch", "jobs"), may_get("", "serviceaccounts")])
}

/// What `releases.baseline: record` wants.
#[must_use]
pub fn looks_at_records() -> Value {
    json!([may_get("batch", "jobs"), may_get("", "serviceaccounts"), may_get("", "secrets"), may_get("", "configmaps")])
}

/// An RBAC rule.
#[must_use]
pub fn may_get(group: &str, resource: &str) -> Value {
    json!({"apiGroups": [group], "resources": [resource], "verbs": ["get"]})
}

fn webhook(plane: &ControlPlane, policies: &Policies, name: &str, options: &Options, may: &Value) -> Result<Webhook> {
    let user = format!("system:serviceaccount:kubewarden:policy-server-{name}");
    let (role, rbac) = (format!("policy-server-{name}"), "rbac.authorization.k8s.io");
    let metadata = json!({"name": role});
    let api_version = format!("{rbac}/v1");
    plane
        .cluster
        .create(&json!({"apiVersion": api_version, "kind": "ClusterRole", "metadata": metadata, "rules": may}));
    plane.cluster.create(&json!({
        "apiVersion": api_version, "kind": "ClusterRoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": role},
        "subjects": [{"apiGroup": rbac, "kind": "User", "name": user}],
    }));
    let view = plane.cluster.seen_by(&plane.kubeconfig, &user)?;
    Webhook::start(name, policies, options, &plane.authority, &plane.cluster, &view)
}
