mod files;
mod limits;
mod lists;
mod yaml;

use super::{Content, documents};

/// One line for each item: `number@line kind/name`, the uid of a request, or the error.
fn outline(file: impl AsRef<[u8]>) -> Vec<String> {
    let text = |value: &serde_json::Value, pointer| match value.pointer(pointer) {
        Some(found) => found.as_str().unwrap_or("?").to_owned(),
        None => String::new(),
    };
    documents(file.as_ref())
        .map(|item| match item {
            Ok(document) => {
                let what = match &document.content {
                    Content::Request(request) => format!("request {}", text(request, "/uid")),
                    Content::Manifest(object) => {
                        format!("{}/{}", text(object, "/kind"), text(object, "/metadata/name"))
                    }
                };
                format!("{}@{} {what}", document.number, document.line)
            }
            Err(error) => error.to_string(),
        })
        .collect()
}

const UNRECOGNIZED: &str = "neither an AdmissionReview, an AdmissionRequest nor an object with apiVersion and kind";
