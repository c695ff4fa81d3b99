//! Where in a template a field of an object stands.

use std::iter;

use json_patch::jsonptr::{Pointer, Token};

/// The line, from 1, of the field at `path` (a JSON pointer) of an object of that kind; of a parent where the template
/// does not spell the field, and `None` where it could be more than one place.
#[must_use]
pub(crate) fn line_of(source: &str, kind: &str, path: &str) -> Option<usize> {
    let path = Pointer::parse(path).unwrap_or_default();
    let lines: Vec<_> = source.lines().enumerate().map(|(at, line)| (at + 1, line)).collect();
    let documents = lines.split(|(_, line)| line.starts_with("---"));
    let mut of_kind =
        documents.filter(|document| document.iter().any(|(_, line)| value_of(line, "kind") == Some(kind)));
    let document = match (of_kind.next(), of_kind.next()) {
        (Some(document), None) => document,
        // A helper writes its kind: then only a field that stands once can be the one.
        (None, _) => return only(&lines, &path.last()?.decoded()),
        (Some(_), Some(_)) => return None,
    };
    let first = |field: &str| document.iter().find(|(_, line)| value_of(line, field).is_some()).map(|(at, _)| *at);
    fields(path).find_map(|field| first(&field.decoded())).or_else(|| first("kind"))
}

/// The fields on that path, the innermost first; indexes of lists are no fields of a template.
fn fields(path: &Pointer) -> impl Iterator<Item = Token<'_>> {
    let tokens = iter::successors(Some(path), |path| path.parent()).filter_map(Pointer::last);
    tokens.filter(|token| !token.encoded().is_empty() && token.encoded().parse::<usize>().is_err())
}

fn only(lines: &[(usize, &str)], field: &str) -> Option<usize> {
    let mut found = lines.iter().filter(|(_, line)| value_of(line, field).is_some());
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Some(*at),
        _ => None,
    }
}

/// The value behind `key:` in a line of YAML, the key quoted or not, in a list or not.
fn value_of<'a>(line: &'a str, key: &str) -> Option<&'a str> {
    let line = line.trim_start_matches(['-', ' ', '\t']);
    let quote = line.chars().next().filter(|first| ['"', '\''].contains(first));
    let rest = line.strip_prefix(|first| Some(first) == quote).unwrap_or(line).strip_prefix(key)?;
    let rest = quote.map_or(Some(rest), |quote| rest.strip_prefix(quote))?;
    rest.trim_start().strip_prefix(':').map(|value| value.trim().trim_end_matches(',').trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::line_of;

    const TEMPLATE: &str = "\
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
---
apiVersion: batch/v1
kind: \"Job\"
metadata:
  annotations:
    {{- if .Release.IsUpgrade }}
    \"helm.sh/hook\": pre-upgrade
    {{- end }}
spec:
  template:
    spec:
      serviceAccountName: a
";

    #[test]
    fn a_field_is_found_in_the_document_of_its_kind() {
        let line = |kind, path| line_of(TEMPLATE, kind, path);
        assert_eq!(line("Job", "/metadata/annotations/helm.sh~1hook"), Some(11));
        assert_eq!(line("Job", "/spec/template/spec/serviceAccountName"), Some(16));
        assert_eq!(line("Job", "/spec/template/spec/containers/0/env"), Some(13), "the nearest parent");
        assert_eq!(line("ServiceAccount", "/metadata/annotations/helm.sh~1hook"), Some(3));
        assert_eq!(line("ServiceAccount", ""), Some(2));
    }

    #[test]
    fn nothing_is_guessed() {
        let two = "kind: Job\nhelm.sh/hook: a\n---\nkind: Job\nhelm.sh/hook: b\n";
        assert_eq!(line_of(two, "Job", "/metadata/annotations/helm.sh~1hook"), None);
        let helper = "{{ include `job` . }}\n  helm.sh/hook: a\n";
        assert_eq!(line_of(helper, "Job", "/metadata/annotations/helm.sh~1hook"), Some(2));
        assert_eq!(line_of(&helper.repeat(2), "Job", "/metadata/annotations/helm.sh~1hook"), None);
        assert_eq!(line_of("helm.sh/hook-weight: 1\n", "Job", "/metadata/annotations/helm.sh~1hook"), None);
    }
}
