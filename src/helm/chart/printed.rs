//! A template that prints the values that Helm renders a chart with, and how they are read again.

use helm::record::decode_base64;
use serde_json::Value;

use crate::render::Render;

const NAME: &str = "stable-hooks-values";

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

/// Takes the values out of a render that prints them.
pub fn take_values(render: &mut Render) -> Option<Value> {
    let is_printed = |kind: &str, name: &str| kind == "ConfigMap" && name == NAME;
    let mut found = render.documents.iter().enumerate();
    let (at, _) = found.find(|(_, document)| is_printed(&document.head.kind, &document.head.name))?;
    let document = render.documents.remove(at);
    let packed = document.text.lines().find_map(|line| line.trim_start().strip_prefix("values: "))?;
    serde_json::from_slice(&decode_base64(packed.trim().as_bytes())?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{PRINTER, take_values};
    use crate::render::Render;

    #[test]
    fn values_are_read_as_they_are_printed() {
        let printed = PRINTER.replace("{{ .Values | toJson | b64enc }}", "eyJhIjoiw7wifQ==");
        let text =
            format!("---\nkind: Job\nmetadata: {{name: a}}\n---\n# Source: c/templates/revision.yaml\n{printed}");
        let mut render = Render::read(text.as_bytes());
        assert_eq!(take_values(&mut render), Some(json!({"a": "ü"})));
        assert_eq!(render.documents.len(), 1);
        assert_eq!(take_values(&mut render), None);
    }
}
