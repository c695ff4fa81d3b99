//! Reads what the cluster holds from a file, for `ClusterView` to answer from.

use stable_hooks_host::cluster::{ClusterView, EntryError};
use thiserror::Error;

use crate::input::{Content, Document, InputError, documents};

#[derive(Debug, PartialEq, Eq, Error)]
pub enum ClusterError {
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("line {line}: an AdmissionRequest, where objects are expected, as `kubectl get ... -o json` prints them")]
    Request { line: usize },
    #[error(transparent)]
    Entry(#[from] EntryError),
}

/// Reads objects: a `List`, manifests, or any other form in which `review` takes them.
///
/// # Errors
///
/// When an entry is no Kubernetes object, or two entries contradict each other.
pub fn read(file: &[u8]) -> Result<ClusterView, ClusterError> {
    ClusterView::from_entries(documents(file).map(|document| {
        let Document { line, content, .. } = document?;
        match content {
            Content::Manifest(object) => Ok((line, object)),
            Content::Request(_) => Err(ClusterError::Request { line }),
        }
    }))
}

#[cfg(test)]
mod tests;
