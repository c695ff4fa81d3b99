//! The annotations that mean something to Helm.

use crate::yaml::Head;

pub const HOOK: &str = "helm.sh/hook";
pub const HOOK_WEIGHT: &str = "helm.sh/hook-weight";
pub const HOOK_DELETE_POLICY: &str = "helm.sh/hook-delete-policy";
/// When Helm prints the logs of a hook: 3.18 and later.
pub const HOOK_OUTPUT_LOG_POLICY: &str = "helm.sh/hook-output-log-policy";
pub const RELEASE_NAME: &str = "meta.helm.sh/release-name";
pub const RELEASE_NAMESPACE: &str = "meta.helm.sh/release-namespace";
pub const RESOURCE_POLICY: &str = "helm.sh/resource-policy";

/// Helm does not prune it.
pub fn is_kept(head: &Head) -> bool {
    head.annotations.get(RESOURCE_POLICY).is_some_and(|policy| keeps(policy))
}

/// A [`RESOURCE_POLICY`] stops Helm from pruning if it is exactly `keep`: no other spelling counts.
pub fn keeps(policy: &str) -> bool {
    policy == "keep"
}

#[cfg(test)]
mod tests {
    use super::is_kept;
    use crate::testing::test;
    use crate::yaml::{self, Limits};

    #[test]
    fn only_keep_is_kept() {
        let kept = |annotation: &str| {
            let text = format!("kind: Job\nmetadata: {{name: a, annotations: {{{annotation}}}}}\n");
            is_kept(&yaml::head(&text, &Limits::default()).unwrap())
        };
        assert!(kept("helm.sh/resource-policy: keep"));
        for annotation in ["helm.sh/resource-policy: delete", "helm.sh/hook: keep", ""] {
            assert!(!kept(annotation), "{annotation}");
        }
    }
}
