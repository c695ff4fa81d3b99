//! A template that prints the values that Helm renders a chart with, and how they are read again.

use helm::record::decode_base64;
use serde_json::Value;

/// A line of the printed object alone.
const NAME: &str = "\n  name: stable-hooks-values\n";

/// What the first template of a copy prints. Helm alone knows exactly what files, flags, the release, the chart and its
/// subcharts come to, and each of the chart's templates sees it only after this one.
pub(super) const PRINTER: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: stable-hooks-values
data:
  values: {{ .Values | toJson | b64enc }}
";

/// Takes the values out of what Helm prints of a copy: the rest has the lines that the chart has alone.
pub fn take_values(printed: &mut Vec<u8>) -> Option<Value> {
    let text = str::from_utf8(printed).ok()?;
    let at = text.find(NAME)?;
    let begin = text.get(..at)?.rfind("---\n")?;
    let end = text.get(at..)?.find("\n---\n").map_or(text.len(), |length| at + length + 1);
    let packed = text.get(at..end)?.lines().find_map(|line| line.trim_start().strip_prefix("values: "));
    let values = packed.and_then(|packed| serde_json::from_slice(&decode_base64(packed.trim().as_bytes())?).ok());
    printed.drain(begin..end);
    values
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PRINTER, take_values};

    #[test]
    fn values_are_read_as_they_are_printed() {
        let printed = PRINTER.replace("{{ .Values | toJson | b64enc }}", "eyJhIjoiw7wifQ==");
        let [before, after] = ["a", "b"].map(|name| format!("---\nkind: Job\nmetadata: {{name: {name}}}\n"));
        let printed = format!("---\n# Source: c/templates/revision.yaml\n{printed}");
        for after in [&*after, ""] {
            let mut text = [&*before, &printed, after].concat().into_bytes();
            assert_eq!(take_values(&mut text), Some(json!({"a": "ü"})));
            assert_eq!(String::from_utf8(text.clone()).unwrap(), [&*before, after].concat());
            assert_eq!(take_values(&mut text), None);
        }
    }
}
