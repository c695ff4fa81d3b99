//! Runs a policy's wasm as Kubewarden does, and knows nothing of what the policy decides.
//!
//! ```text
//!  a module's bytes ----> metadata: what the policy says about itself, and what it may look up
//!         |
//!         v
//!  runtime::Policy -----> call: why there is no answer, and the patch that an answer means
//!         |
//!         | host calls
//!         v
//!  cluster::ClusterView   the objects of a cluster, as Kubewarden's host capabilities hand them out
//! ```
//!
//! Only `runtime` needs wasmtime, files and threads, so it is a feature: without it the crate builds for wasm as well.

pub mod call;
pub mod cluster;
pub mod metadata;
#[cfg(feature = "runtime")]
pub mod runtime;
