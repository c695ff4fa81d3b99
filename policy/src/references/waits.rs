//! Jobs among the words of a container that waits for one.

/// Before the name of a Job: the words of kubectl, and those of k8s-wait-for.
const BEFORE_A_JOB: [&str; 9] =
    ["job", "jobs", "job.batch", "jobs.batch", "job.v1.batch", "jobs.v1.batch", "job-w", "job-wr", "job-we"];

/// The names of Jobs in a command line that waits for them, each with the field of its word. Where the line may go on
/// without the Job, or means one of another namespace, there are none.
pub(super) fn jobs<'a>(image: &str, texts: Vec<(String, &'a str)>) -> Vec<(String, &'a str)> {
    let image = image.rsplit('/').next().unwrap_or_default();
    let (mut waits, mut loops, mut stops_at_errors, mut goes_on) = (image.contains("wait-for"), false, false, false);
    let (mut previous, mut jobs) = ("", Vec::new());
    for (field, text) in texts {
        if text.contains("||") {
            return Vec::new();
        }
        goes_on |= text.contains(';') || text.contains('\n');
        for word in text.split(is_between) {
            match word {
                "" => continue,
                "wait" => waits = true,
                "until" | "while" => loops = true,
                "delete" | "-n" => return Vec::new(),
                _ if word.starts_with("--for=delete") || word.starts_with("--namespace") => {
                    return Vec::new();
                }
                // In a comment, which ends somewhere, all is prose.
                _ if word.starts_with('#') => return Vec::new(),
                _ => stops_at_errors |= word.starts_with('-') && !word.starts_with("--") && word.contains('e'),
            }
            match word.split_once('/') {
                Some((kind, name)) if BEFORE_A_JOB.contains(&kind) => jobs.push((field.clone(), name)),
                _ if BEFORE_A_JOB.contains(&previous) => jobs.push((field.clone(), word)),
                _ => {}
            }
            previous = word;
        }
    }
    if loops || (waits && (stops_at_errors || !goes_on)) { jobs } else { Vec::new() }
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '`' | ';' | '&' | '|' | '(' | ')')
}

#[cfg(test)]
mod tests {
    use super::jobs;
    use crate::testing::test;

    fn found<'a>(image: &str, words: &[&'a str]) -> Vec<&'a str> {
        let words = words.iter().map(|word| (String::new(), *word)).collect();
        jobs(image, words).into_iter().map(|(_, job)| job).collect()
    }

    #[test]
    fn jobs_that_are_waited_for_are_found_as_programs_name_them() {
        let kubectl = ["wait", "--for", "condition=complete", "--timeout", "5m", "job/migrate"];
        assert_eq!(found("docker.io/bitnami/kubectl:1", &kubectl), ["migrate"]);
        assert_eq!(found("groundnuty/k8s-wait-for:v2.0", &["job-wr", "migrate"]), ["migrate"]);
        assert_eq!(found("k8s-wait-for", &["job", "migrate"]), ["migrate"]);
        let script = "until kubectl get job migrate -o jsonpath='{.status.succeeded}' | grep 1; do sleep 2; done";
        assert_eq!(found("kubectl", &["sh", "-c", script]), ["migrate"]);
        assert_eq!(
            found("kubectl", &["sh", "-c", "kubectl wait --for=condition=complete jobs.batch/a job/b"]),
            ["a", "b"]
        );
    }

    #[test]
    fn what_does_not_wait_or_goes_on_all_the_same_waits_for_no_job() {
        assert_eq!(found("kubectl", &["delete", "job/migrate"]), [""; 0]);
        assert_eq!(found("kubectl", &["sh", "-c", "kubectl wait --timeout=9s job/migrate || true"]), [""; 0]);
        assert_eq!(found("groundnuty/k8s-wait-for:v2.0", &["service", "job-server"]), [""; 0]);
        assert_eq!(found("k8s-wait-for", &[]), [""; 0]);
        for script in [
            "kubectl delete job migrate --ignore-not-found --wait=false",
            "kubectl wait --for=delete job/migrate",
            "kubectl wait -n other job/migrate",
            "kubectl wait --timeout=30s job/migrate; echo go on",
            "kubectl wait --timeout=30s job/migrate\necho go on",
            "until nc -z db 5432; do sleep 1; done # the job migrate comes later",
        ] {
            assert_eq!(found("kubectl", &["sh", "-c", script]), [""; 0], "{script}");
        }
        assert_eq!(found("shop/waitress:1", &["serve", "--queue", "job", "migrate"]), [""; 0]);
    }
}
