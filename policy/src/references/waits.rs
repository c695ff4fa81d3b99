//! Jobs among the words of a container that waits for one.

/// Before the name of a Job: the words of kubectl, and those of k8s-wait-for.
const BEFORE_A_JOB: [&str; 7] = ["job", "jobs", "job.batch", "jobs.batch", "job-w", "job-wr", "job-we"];

/// The program, the script or the image says that it waits.
const WAITS: [&str; 3] = ["wait", "until ", "while "];

/// What comes behind it is done where the wait has failed: so that it does not hold a pod back for ever.
const OR_ELSE: &str = "||";

/// Finds the names of Jobs in the words of a command line that waits, each with the place of its word.
pub(super) fn jobs<'a>(image: &str, words: &[&'a str], found: &mut dyn FnMut(usize, &'a str)) {
    let waits = |text: &str| WAITS.iter().any(|word| text.contains(word));
    if !(waits(image) || words.iter().any(|word| waits(word))) || words.iter().any(|word| word.contains(OR_ELSE)) {
        return;
    }
    let mut previous = "";
    for (place, text) in words.iter().enumerate() {
        for word in text.split(is_between).filter(|word| !word.is_empty()) {
            let named = word.split_once('/').filter(|(kind, _)| BEFORE_A_JOB.contains(kind));
            let follows = BEFORE_A_JOB.contains(&previous).then_some(word);
            if let Some(name) = named.map(|(_, name)| name).or(follows) {
                found(place, name);
            }
            previous = word;
        }
    }
}

fn is_between(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\'' | '"' | '`' | ';' | '&' | '|' | '(' | ')')
}

#[cfg(test)]
mod tests {
    use super::jobs;
    use crate::testing::test;

    fn found<'a>(image: &str, words: &[&'a str]) -> Vec<&'a str> {
        let mut found = Vec::new();
        jobs(image, words, &mut |_, job| found.push(job));
        found
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
    }
}
