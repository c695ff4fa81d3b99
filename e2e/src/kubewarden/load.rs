//! Many requests at once to the policy-servers, by the address of their Service.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use kube::{Client, Config};
use serde_json::Value;

use super::NAMESPACE;
use super::stack::{SERVER, Stack};
use crate::webhook::send;

impl Stack {
    /// Posts a body so often, over that many connections; how long each answer took.
    pub fn post_many(&self, policy: &str, body: &[u8], connections: usize, count: usize) -> Result<Vec<Duration>> {
        let cluster = self.world.cluster();
        let service = cluster.find("Service", NAMESPACE, &format!("policy-server-{SERVER}")).context("no Service")?;
        let address = service.pointer("/spec/clusterIP").and_then(Value::as_str).context("no address")?;
        let url: axum::http::Uri = format!("https://{address}").parse()?;
        let (next, taken) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
        thread::scope(|scope| {
            for _ in 0..connections {
                scope.spawn(|| {
                    let mut config = Config::new(url.clone());
                    // The certificate is for a name, and that it is trusted every other scenario shows.
                    config.accept_invalid_certs = true;
                    let _guard = cluster.runtime().enter();
                    let client = Client::try_from(config).expect("a client");
                    while next.fetch_add(1, Ordering::Relaxed) < count {
                        let begun = Instant::now();
                        let sending = send(&client, policy, "application/json", body.to_vec());
                        let answer = cluster.runtime().block_on(sending);
                        let took = begun.elapsed();
                        assert_eq!(answer.status, 200, "{}", answer.body);
                        taken.lock().unwrap_or_else(PoisonError::into_inner).push(took);
                    }
                });
            }
        });
        let mut taken = taken.into_inner().unwrap_or_else(PoisonError::into_inner);
        ensure!(taken.len() == count, "{} of {count} were answered", taken.len());
        taken.sort();
        Ok(taken)
    }
}
