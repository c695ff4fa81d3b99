//! Clients of the API server, by their image and by what a container is told to run.

/// Programs that ask the API server for something whatever they are told to do.
const PROGRAMS: [&str; 3] = ["kubectl", "helm", "oc"];

/// Images of others, by the last part of their name; and each with `certgen` in it stores certificates in Secrets.
const IMAGES: [&str; 6] =
    ["k8s", "k8s-wait-for", "k8s-image-awaiter", "kubernetes-entrypoint", "flux-cli", "cockroach-self-signer-cert"];

/// Where a pod finds the API server, and its token for it.
const PLACES: [&str; 3] = ["kubernetes.default", "KUBERNETES_SERVICE_HOST", "/secrets/kubernetes.io/serviceaccount"];

/// Words of a shell before a command.
const KEYWORDS: [&str; 12] =
    ["if", "then", "else", "elif", "do", "while", "until", "exec", "sudo", "time", "command", "!"];

pub(super) fn is_image(image: &str) -> bool {
    let name = image.split('@').next().unwrap_or_default();
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.split(':').next().unwrap_or_default();
    IMAGES.contains(&name)
        || is_program(name)
        || name.contains("certgen")
        || name.split(['-', '_']).any(|part| part == "kubectl")
}

/// A program as a command names it, with or without its folder.
pub(super) fn is_program(word: &str) -> bool {
    PROGRAMS.contains(&word.rsplit('/').next().unwrap_or_default())
}

/// A text that speaks of the API server, or a script that runs a program of ours.
pub(super) fn calls_one(text: &str) -> bool {
    if PLACES.iter().any(|place| text.contains(place)) {
        return true;
    }
    // One word alone is as likely an argument.
    let is_script = text.contains(' ');
    is_script && text.split(['\n', ';', '&', '|', '(', '`', '{']).any(runs_one)
}

fn runs_one(command: &str) -> bool {
    for word in command.split([' ', '\t', '\r', '"', '\'']) {
        // What has an equals sign sets a variable for the command.
        if !word.is_empty() && !word.contains('=') && !KEYWORDS.contains(&word) {
            return is_program(word);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{calls_one, is_image, is_program};
    use crate::testing::test;

    #[test]
    fn images_are_known_by_the_last_part_of_their_name() {
        for image in [
            "kubectl",
            "docker.io/bitnami/kubectl:1.33",
            "alpine/k8s:1.37.0",
            "localhost:5000/dtzar/helm-kubectl@sha256:0",
            "ghcr.io/groundnuty/k8s-wait-for:v2.0",
            "registry.k8s.io/ingress-nginx/kube-webhook-certgen:v1.6.9@sha256:0",
        ] {
            assert!(is_image(image), "{image}");
        }
        for image in [
            "",
            "kubectl/migrate:1",
            "migrate:kubectl",
            "k8s-migrate:1",
            "ess-helm/matrix-tools",
            "postgres",
            "acme/helm-docs:1",
        ] {
            assert!(!is_image(image), "{image}");
        }
    }

    #[test]
    fn programs_are_known_with_their_folder() {
        assert!(is_program("/usr/local/bin/kubectl") && is_program("oc"));
        assert!(!is_program("kubectl-wait") && !is_program(""));
    }

    #[test]
    fn scripts_are_read_as_far_as_their_commands() {
        for script in [
            "kubectl get pods",
            "set -e; until kubectl get pods; do sleep 1; done",
            "ready=\"$(kubectl get pods -o name)\"",
            "migrate &&\n  KUBECONFIG=/x exec /bin/oc get pods",
            "if ! helm status orders; then exit 1; fi",
            "curl --retry 9 https://kubernetes.default.svc/api",
            "--token=/var/run/secrets/kubernetes.io/serviceaccount/token",
        ] {
            assert!(calls_one(script), "{script}");
        }
        for script in
            ["helm", "kubectl", "echo kubectl", "# kubectl get pods", "migrate --by helm", "", "=", "(", "a; "]
        {
            assert!(!calls_one(script), "{script}");
        }
    }
}
