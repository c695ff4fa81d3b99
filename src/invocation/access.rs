//! The cluster and the identity with which Helm looks at it, in `kubectl`'s flags.

use super::Invocation;

/// Helm's flag, its environment variable, and `kubectl`'s flag.
const SAME: [(&str, &str, &str); 8] = [
    ("kube-context", "HELM_KUBECONTEXT", "context"),
    // `kubectl` reads KUBECONFIG by itself.
    ("kubeconfig", "", "kubeconfig"),
    ("kube-apiserver", "HELM_KUBEAPISERVER", "server"),
    ("kube-as-user", "HELM_KUBEASUSER", "as"),
    ("kube-ca-file", "HELM_KUBECAFILE", "certificate-authority"),
    ("kube-tls-server-name", "HELM_KUBETLS_SERVER_NAME", "tls-server-name"),
    ("kube-insecure-skip-tls-verify", "HELM_KUBEINSECURE_SKIP_TLS_VERIFY", "insecure-skip-tls-verify"),
    ("namespace", "HELM_NAMESPACE", "namespace"),
];

impl Invocation {
    /// The very same cluster, identity and namespace for `kubectl`; `None` where a token is in the environment: in a flag
    /// everybody on the machine could read it.
    pub fn kubectl_flags(&self, variable: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
        let mut flags = Vec::new();
        for (flag, name, of_kubectl) in SAME {
            let given = self.flag(flag).map(|flag| flag.value.clone().unwrap_or_else(|| "true".to_owned()));
            let value = given.or_else(|| variable(name).filter(|_| !name.is_empty()));
            flags.extend(value.map(|value| format!("--{of_kubectl}={value}")));
        }
        let groups = self.words.flags.iter().filter(|flag| flag.name == "kube-as-group");
        let mut groups: Vec<_> = groups.filter_map(|flag| flag.value.clone()).collect();
        if groups.is_empty() {
            groups.extend(variable("HELM_KUBEASGROUPS").iter().flat_map(|groups| groups.split(',')).map(str::to_owned));
        }
        flags.extend(groups.into_iter().map(|group| format!("--as-group={group}")));
        match (self.value("kube-token"), variable("HELM_KUBETOKEN")) {
            (Some(token), _) => flags.push(format!("--token={token}")),
            (None, Some(_)) => return None,
            (None, None) => {}
        }
        Some(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::Invocation;

    fn flags(line: &str, variables: &[(&str, &str)]) -> Option<String> {
        let invocation = Invocation::read(line.split(' ').map(Into::into).collect()).unwrap();
        let variable = |name: &str| {
            let known = variables.iter().find(|(known, _)| *known == name);
            known.map(|(_, value)| (*value).to_owned())
        };
        invocation.kubectl_flags(variable).map(|flags| flags.join(" "))
    }

    #[test]
    fn kubectl_looks_at_the_same_cluster_as_the_same_user() {
        let all = "upgrade o c --kube-context a --kubeconfig b --kube-apiserver c --kube-as-user d --kube-as-group e \
                   --kube-as-group f --kube-ca-file g --kube-tls-server-name h --kube-insecure-skip-tls-verify -n i --kube-token j";
        let expected = "--context=a --kubeconfig=b --server=c --as=d --certificate-authority=g --tls-server-name=h \
                        --insecure-skip-tls-verify=true --namespace=i --as-group=e --as-group=f --token=j";
        assert_eq!(flags(all, &[]).as_deref(), Some(expected));
        let variables = [("HELM_KUBECONTEXT", "a"), ("HELM_NAMESPACE", "b"), ("HELM_KUBEASGROUPS", "c,d"), ("", "x")];
        assert_eq!(
            flags("upgrade o c -n e", &variables).as_deref(),
            Some("--context=a --namespace=e --as-group=c --as-group=d")
        );
        assert_eq!(flags("upgrade o c", &[("HELM_KUBECONTEXT", "")]).as_deref(), Some(""));
    }

    #[test]
    fn a_token_of_the_environment_is_shown_to_nobody() {
        assert_eq!(flags("upgrade o c", &[("HELM_KUBETOKEN", "t")]), None);
        assert_eq!(flags("upgrade o c --kube-token u", &[("HELM_KUBETOKEN", "t")]).as_deref(), Some("--token=u"));
    }
}
