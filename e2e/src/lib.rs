//! The harness of the end-to-end tests: a real control plane, real Helm, and the policy behind a real webhook.
//!
//! ```text
//!  tools          Go programs at pinned versions, built once (`e2e/tools/build`)
//!  control_plane  etcd, API server, controller manager, scheduler, KWOK in the kubelet's place
//!  policy_server  what policy-server makes of a policy's verdict
//!  webhook        the annotated wasm as policy-server would serve it, registered as Kubewarden would register it
//!  world          all of that, started once
//!  kubewarden     Kubewarden as its charts install it, with its real controller, for the tests that want it; the whole of
//!                 it where a test wants its policy-servers and its audit scanner too
//!  kyverno        Kyverno's admission controller, for the tests that want it
//!  scene          one scenario: a namespace of its own, Helm in one version, with the policy or without
//!  argocd         Argo CD in that world, and Applications of it
//!  network        a network of a suite's own, for programs that listen on every interface
//!  page           a page of `docs/`: the commands and the messages in it
//!  suite          runs scenarios side by side
//!  oracle         pairs of small charts that are made of seeds, and whether our tools foresee what Helm does to them
//!  proof          what the scenarios saw, as a page of `docs/`
//! ```

#![expect(
    clippy::expect_used,
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a scenario fails by panicking; what has to be started says in an error why it cannot"
)]

pub mod argocd;
mod certificates;
pub mod cluster;
pub mod control_plane;
pub mod helm;
pub mod kubewarden;
pub mod kyverno;
pub mod network;
pub mod oracle;
pub mod page;
mod policy_server;
pub mod process;
pub mod proof;
pub mod scene;
pub mod suite;
pub mod tools;
pub mod webhook;
pub mod world;
