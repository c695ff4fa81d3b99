//! One test binary: what the command line and the policy do, natively and inside the wasm.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by panicking, and clippy takes its helpers for production code"
)]

mod audit;
mod browser;
mod canary;
mod cases;
mod chart_argocd;
mod chart_causes;
mod chart_changes;
mod chart_configuration;
mod chart_files;
mod chart_helm;
mod chart_history;
mod chart_many;
mod chart_references;
mod chart_renders;
mod chart_revisions;
mod chart_sweep;
mod chart_values;
mod ci;
mod cli;
mod cli_release;
mod commands;
mod corpus;
mod denials;
mod docs;
mod endings;
mod engines;
mod field;
mod fix;
mod forecast;
mod fuel;
mod guard;
mod guard_recipes;
mod guests;
mod helms;
mod hook_changes;
mod host;
mod house;
mod house_file;
mod ignore;
mod install;
mod kyverno;
mod manifests;
mod markdown;
mod monitoring;
mod oracle;
mod orphans;
mod outputs;
mod packages;
mod playground;
mod plugin;
mod properties;
mod reach;
mod release_cases;
mod release_records;
mod releases;
mod rules;
mod sentences;
mod server;
mod shells;
mod streams;
mod sweep_page;
mod sync_cases;
mod timeline;
mod workflows;
