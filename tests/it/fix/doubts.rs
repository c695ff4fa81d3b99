//! What a hook may need without a field of its pod that says so, and what may live on its account: in doubt it stays.

use super::needs::{COMPLETE, hook, object};
use super::{becomes, stays};

/// A hook whose pod has these fields.
fn pod(fields: &str) -> String {
    hook(&format!("image: \"orders:1\"}}\n      {fields}\n      more: {{a: b"))
}

/// What a hook gets with its release, or before it.
fn early(object: &str) -> String {
    object.replacen(
        "metadata: {",
        "metadata: {annotations: {helm.sh/hook: \"pre-install,pre-upgrade\", helm.sh/hook-weight: \"-9\"}, ",
        1,
    )
}

fn completed(stream: &str) {
    becomes(COMPLETE, stream, &stream.replace("hook: pre-upgrade", "hook: pre-install,pre-upgrade"));
}

/// The hook stays because of the object, is completed where that is there in time or missing, and after the install.
fn waits_for(hook: &str, object: &str, words: &[&str]) {
    stays(COMPLETE, &format!("{hook}{object}"), words);
    completed(&format!("{hook}{}", early(object)));
    completed(hook);
    let after = format!("{hook}{object}").replace("hook: pre-upgrade", "hook: post-upgrade");
    becomes(COMPLETE, &after, &after.replace("hook: post-upgrade", "hook: post-install,post-upgrade"));
}

#[test]
fn fix_adds_no_event_before_the_namespace_of_the_hook() {
    let job = hook("image: a").replace("  name: migrate\n", "  name: migrate\n  namespace: fxshop\n");
    let words = "at pre-install it would need Namespace fxshop, which metadata.namespace names and this stream creates \
                 only later";
    waits_for(&job, &object("v1", "Namespace", "fxshop", ""), &[words]);
    waits_for(
        &job,
        &object("hnc.x-k8s.io/v1alpha2", "SubnamespaceAnchor", "fxshop", ""),
        &["SubnamespaceAnchor fxshop"],
    );
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: migrate\n  namespace: fxshop\n  \
                   labels: {stable-hooks/migration: \"true\"}\n  annotations:\n    helm.sh/hook: pre-upgrade\n";
    waits_for(account, &object("v1", "Namespace", "fxshop", ""), &["ServiceAccount fxshop/migrate", words]);
    // A release is often called like its namespace.
    completed(&(job.clone() + &object("apps/v1", "Deployment", "fxshop", "") + &object("v1", "Service", "fxshop", "")));
    completed(&(job + &object("v1", "Namespace", "other", "")));
}

#[test]
fn fix_adds_no_event_before_anything_that_the_hook_names() {
    for (fields, api_version, kind) in [
        ("priorityClassName: quick", "scheduling.k8s.io/v1", "PriorityClass"),
        ("runtimeClassName: quick", "node.k8s.io/v1", "RuntimeClass"),
        (
            "resourceClaims: [{name: a, resourceClaimTemplateName: quick}]",
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
        ),
        (
            "volumes: [{name: a, csi: {driver: x, volumeAttributes: {secretProviderClass: quick}}}]",
            "secrets-store.csi.x-k8s.io/v1",
            "SecretProviderClass",
        ),
        ("initContainers: [{name: a, env: [{name: A, value: \"x/quick\"}]}]", "example.com/v1", "Database"),
        ("initContainers: [{name: a, args: [\"--wait=quick.v1\"]}]", "v1", "PersistentVolume"),
        ("nodeSelector: {karpenter.sh/nodepool: quick}", "karpenter.sh/v1", "NodePool"),
        ("schedulerName: quick", "apps/v1", "Deployment"),
    ] {
        let words = format!("at pre-install it may need {kind} quick, which spec.template.spec.");
        waits_for(&pod(fields), &object(api_version, kind, "quick", ""), &[&words]);
    }
    let queued = hook("image: a").replace("{app: migrate}", "{app: migrate, kueue.x-k8s.io/queue-name: quick}");
    waits_for(&queued, &object("kueue.x-k8s.io/v1beta1", "LocalQueue", "quick", ""), &["LocalQueue quick"]);
    // A name may have dots.
    let issued = pod("initContainers: [{name: a, args: [\"https://quick.example.com:80/x\"]}]");
    waits_for(&issued, &object("example.com/v1", "Site", "quick.example.com", ""), &["Site quick.example.com"]);
}

#[test]
fn fix_knows_the_variables_that_tell_of_a_service() {
    for text in
        ["$(MY_DB_SERVICE_HOST)", "MY_DB_SERVICE_HOST", "a $MY_DB_PORT_5432_TCP_ADDR", "MY_DB_SERVICE_PORT_HTTP"]
    {
        let stream = hook(&format!("args: [\"{text}\"]"));
        let words = "it may need Service my-db, which spec.template.spec.containers[0].args[0] names";
        waits_for(&stream, &object("v1", "Service", "my-db", ""), &[words]);
    }
}

#[test]
fn fix_adds_no_event_before_what_makes_something_that_the_hook_refers_to() {
    let secret = "volumes: [{name: a, secret: {secretName: creds-tls}}]";
    let claim = "volumes: [{name: a, persistentVolumeClaim: {claimName: data-my-db-0}}]";
    let account = "serviceAccountName: creds-tls";
    for (fields, made) in [
        (secret, object("external-secrets.io/v1", "ExternalSecret", "a", "spec: {target: {name: creds-tls}}\n")),
        (secret, object("external-secrets.io/v1", "ExternalSecret", "creds-tls", "spec: {refreshInterval: 1h}\n")),
        (secret, object("cert-manager.io/v1", "Certificate", "a", "spec: {secretName: creds-tls}\n")),
        (secret, object("cert-manager.io/v1", "Certificate", "a", "spec: {secretName: \"creds\\x2dtls\"}\n")),
        (secret, object("example.com/v1", "Vault", "a", "spec: {secrets: {creds-tls: {}}}\n")),
        (secret, object("networking.k8s.io/v1", "Ingress", "a", "spec: {tls: [{secretName: creds-tls}]}\n")),
        (secret, object("apps/v1", "Deployment", "a", "spec: {args: [\"--make=creds-tls\"]}\n")),
        (secret, object("postgresql.cnpg.io/v1", "Cluster", "creds", "")),
        (claim, object("apps/v1", "StatefulSet", "my-db", "")),
        (claim, object("example.com/v1", "Database", "db", "")),
        (
            account,
            object(
                "rbac.authorization.k8s.io/v1",
                "RoleBinding",
                "a",
                "subjects: [{kind: ServiceAccount, name: creds-tls}]\n",
            ),
        ),
    ] {
        waits_for(&pod(fields), &made, &["at pre-install it may need ", "this stream creates only later"]);
    }
    // An item of a list is created with the release too.
    let list = "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: cert-manager.io/v1, kind: Certificate, \
                metadata: {name: a}, spec: {secretName: creds-tls}}\n";
    let words = "it may need Certificate a, which names Secret creds-tls (spec.template.spec.volumes[0].secret) and";
    stays(COMPLETE, &(pod(secret) + list), &[words]);
}

#[test]
fn fix_waits_for_the_rights_of_an_account_that_is_there() {
    let account = early(&object("v1", "ServiceAccount", "runner", ""));
    let binding = object("rbac.authorization.k8s.io/v1", "RoleBinding", "a", "subjects: [{name: runner}]\n");
    waits_for(&(pod("serviceAccountName: runner") + &account), &binding, &["which names ServiceAccount runner ("]);
    // At the upgrade the hook runs without it too.
    let tested = binding.replace("{name: a}", "{name: a, annotations: {helm.sh/hook: test}}");
    completed(&(pod("serviceAccountName: runner") + &account + &tested));
}

#[test]
fn fix_adds_an_event_where_names_only_describe() {
    let labels = "labels: {app: orders, app.kubernetes.io/instance: orders, helm.sh/chart: orders}";
    let job = pod("serviceAccountName: runner\n      volumes: [{name: orders, secret: {secretName: creds}}]\n      \
                   affinity: {podAntiAffinity: {a: [{labelSelector: {matchLabels: {app: orders}}}]}}")
    .replace("labels: {app: migrate}", "labels: {app: migrate, app.kubernetes.io/instance: orders, chart: orders}")
    .replace("{name: m,", "{name: orders, volumeMounts: [{name: orders, mountPath: /etc/orders}],");
    let pods = "{spec: {containers: [{name: creds, envFrom: [{secretRef: {name: creds}}]}]}}";
    let stream = [
        job,
        object("apps/v1", "Deployment", "orders", &format!("spec: {{template: {pods}}}\n")),
        object("batch/v1", "CronJob", "orders", &format!("spec: {{jobTemplate: {{spec: {{template: {pods}}}}}}}\n")),
        object("v1", "Service", "orders", "spec: {selector: {app: creds}}\n"),
        object("v1", "Service", "creds", ""),
        object("v1", "Service", "migrate", ""),
        object("v1", "ConfigMap", "orders", "data: {a: b}\n"),
        object("v1", "ServiceAccount", "orders", "imagePullSecrets: [{name: creds}]\n"),
        early(&object("v1", "ServiceAccount", "runner", "")),
    ];
    completed(&stream.concat().replace("metadata: {name: orders}", &format!("metadata: {{name: orders, {labels}}}")));
}

#[test]
fn fix_shows_nothing_of_a_plain_secret() {
    let secret = object("v1", "Secret", "other", "stringData: {hunter2: creds}\n");
    completed(&(pod("volumes: [{name: a, secret: {secretName: creds}}]") + &secret));
}

#[test]
fn fix_deletes_no_account_that_something_of_the_stream_names() {
    let account = "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: migrate\n  annotations:\n    helm.sh/hook: \
                   pre-install,pre-upgrade\n    helm.sh/hook-weight: \"-1\"\n    helm.sh/hook-delete-policy: hook-failed\n";
    let job = hook("image: a").replace("      containers", "      serviceAccountName: migrate\n      containers");
    let job = job.replace("helm.sh/hook: pre-upgrade", "helm.sh/hook: pre-install,pre-upgrade");
    let stream = |more: &str| format!("{account}---\n{job}{more}");
    let token = "---\napiVersion: v1\nkind: Secret\ntype: kubernetes.io/service-account-token\nmetadata:\n  name: token\n  \
                 annotations: {kubernetes.io/service-account.name: migrate}\n";
    let listed = "---\napiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: token, \
                  annotations: {kubernetes.io/service-account.name: migrate}}}\n";
    let custom = |spec: &str| object("monitoring.coreos.com/v1", "Prometheus", "a", spec);
    for (more, user) in [
        (token.to_owned(), "Secret token names it"),
        (listed.to_owned(), "Secret token names it"),
        (custom("spec: {serviceAccountName: migrate}\n"), "Prometheus a names it"),
        (custom("spec: {a: [{driver: {serviceAccount: migrate}}]}\n"), "Prometheus a names it"),
        (custom("spec: {\"service\\x41ccountName\": migrate}\n"), "Prometheus a names it"),
        (custom("spec: {serviceAccountRef: {name: migrate}}\n"), "Prometheus a names it"),
        (custom("spec: {template: {spec: {serviceAccountName: migrate}}}\n"), "Prometheus a runs as it"),
    ] {
        let words =
            format!("stays \"hook-failed\": {user}, and the account's tokens would stop working at each upgrade");
        stays(&[], &stream(&more), &[&words]);
    }
    // Rights are given to a name, and stay.
    let binding = object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        "a",
        "subjects: [{kind: ServiceAccount, name: migrate}]\n",
    );
    for more in [binding, custom("spec: {serviceAccountName: other}\n"), token.replace(": migrate", ": other")] {
        let mended = stream(&more).replace(": hook-failed", ": before-hook-creation,hook-failed");
        assert_eq!(super::fixed(&[], &stream(&more)).0, mended);
    }
}
