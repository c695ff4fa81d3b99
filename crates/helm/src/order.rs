//! In which order Helm handles documents (`pkg/release/v1/util/kind_sorter.go`, `pkg/action/hooks.go`).

use std::cmp::Ordering;

use super::record::RecordHook;

/// Helm 4's `InstallOrder`. Helm 3 does not know the last two, which it sorts among the unknown kinds: last as well.
const INSTALL_ORDER: [&str; 38] = [
    "PriorityClass",
    "Namespace",
    "NetworkPolicy",
    "ResourceQuota",
    "LimitRange",
    "PodSecurityPolicy",
    "PodDisruptionBudget",
    "ServiceAccount",
    "Secret",
    "SecretList",
    "ConfigMap",
    "StorageClass",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "CustomResourceDefinition",
    "ClusterRole",
    "ClusterRoleList",
    "ClusterRoleBinding",
    "ClusterRoleBindingList",
    "Role",
    "RoleList",
    "RoleBinding",
    "RoleBindingList",
    "Service",
    "DaemonSet",
    "Pod",
    "ReplicationController",
    "ReplicaSet",
    "Deployment",
    "HorizontalPodAutoscaler",
    "StatefulSet",
    "Job",
    "CronJob",
    "IngressClass",
    "Ingress",
    "APIService",
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
];

/// When Helm installs objects of that kind; those that it does not know come last.
pub fn install_rank(kind: &str) -> usize {
    INSTALL_ORDER.iter().position(|known| *known == kind).unwrap_or(INSTALL_ORDER.len())
}

/// Orders two hooks of one event as Helm runs them: by weight, then name, and only then kind.
///
/// For a stable sort: of two hooks that are equal in all of that, the first stays first.
pub fn hook_order(a: &RecordHook, b: &RecordHook) -> Ordering {
    a.weight.cmp(&b.weight).then_with(|| a.name.cmp(&b.name)).then_with(|| kind_order(&a.kind, &b.kind))
}

/// Orders two kinds as Helm installs them; those that it does not know go last, by the letter.
///
/// For a stable sort, as well.
pub fn kind_order(a: &str, b: &str) -> Ordering {
    let (left, right) = (install_rank(a), install_rank(b));
    let by_letter = || if left == INSTALL_ORDER.len() { a.cmp(b) } else { Ordering::Equal };
    left.cmp(&right).then_with(by_letter)
}

#[cfg(test)]
mod tests {
    use super::{INSTALL_ORDER, RecordHook, hook_order, install_rank};
    use crate::testing::test;

    fn sorted(hooks: &[(i64, &str, &str)]) -> Vec<String> {
        let hook = |&(weight, name, kind): &(i64, &str, &str)| RecordHook {
            weight,
            name: name.to_owned(),
            kind: kind.to_owned(),
            ..RecordHook::default()
        };
        let mut hooks: Vec<RecordHook> = hooks.iter().map(hook).collect();
        hooks.sort_by(hook_order);
        hooks.into_iter().map(|hook| format!("{} {} {}", hook.weight, hook.name, hook.kind)).collect()
    }

    #[test]
    fn kinds_rank_as_helm_installs_them() {
        for pair in INSTALL_ORDER.windows(2) {
            assert!(install_rank(pair[0]) < install_rank(pair[1]), "{pair:?}");
        }
        assert!(install_rank("ServiceAccount") < install_rank("Job"));
        assert!(install_rank("ValidatingWebhookConfiguration") < install_rank("Widget"));
        assert_eq!(install_rank(""), install_rank("job"));
    }

    #[test]
    fn weight_goes_before_name_and_name_before_kind() {
        assert_eq!(
            sorted(&[(0, "app-migrate-sa", "ServiceAccount"), (0, "app-migrate", "Job"), (-1, "z", "Widget")]),
            ["-1 z Widget", "0 app-migrate Job", "0 app-migrate-sa ServiceAccount"]
        );
        assert_eq!(
            sorted(&[(10, "a", "Job"), (9, "a", "Job"), (-10, "a", "Job")]),
            ["-10 a Job", "9 a Job", "10 a Job"]
        );
    }

    #[test]
    fn hooks_of_one_name_go_by_kind() {
        assert_eq!(
            sorted(&[(0, "a", "Widget"), (0, "a", "Gadget"), (0, "a", "Job"), (0, "a", "ServiceAccount")]),
            ["0 a ServiceAccount", "0 a Job", "0 a Gadget", "0 a Widget"]
        );
    }
}
