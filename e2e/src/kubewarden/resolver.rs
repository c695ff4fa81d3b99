//! A proxy that knows the cluster's Services by their names, for a program outside of the cluster that wants its DNS.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use crate::cluster::Cluster;

/// More than the head of a `CONNECT` has.
const MOST_BYTES: usize = 4096;

pub(crate) struct Resolver {
    pub(crate) url: String,
    serving: JoinHandle<()>,
}

impl Resolver {
    pub(crate) fn start(cluster: &Cluster) -> Result<Self> {
        let runtime = cluster.runtime();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).context("no port for the proxy")?;
        let url = format!("http://{}", listener.local_addr()?);
        let cluster = Arc::new(cluster.clone());
        let serving = runtime.spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connect(client, Arc::clone(&cluster)));
            }
        });
        Ok(Self { url, serving })
    }
}

impl Drop for Resolver {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn connect(mut client: TcpStream, cluster: Arc<Cluster>) -> Option<()> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") && head.len() < MOST_BYTES {
        head.push(client.read_u8().await.ok()?);
    }
    let head = String::from_utf8(head).ok()?;
    let target = head.strip_prefix("CONNECT ")?.split(' ').next()?.to_owned();
    let found = tokio::task::spawn_blocking(move || address(&cluster, &target)).await.ok()?;
    let server = match found {
        Some(address) => TcpStream::connect(address).await.ok(),
        None => None,
    };
    let Some(mut server) = server else {
        client.write_all(b"HTTP/1.1 502 Bad Gateway\r\n\r\n").await.ok()?;
        return None;
    };
    client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok()?;
    copy_bidirectional(&mut client, &mut server).await.ok()?;
    Some(())
}

/// Where `NAME.NAMESPACE.svc:PORT` is.
fn address(cluster: &Cluster, target: &str) -> Option<SocketAddr> {
    let (host, port) = target.rsplit_once(':')?;
    let (name, namespace) = host.strip_suffix(".svc")?.split_once('.')?;
    let service = cluster.try_find("v1", "Service", namespace, name).ok()??;
    let ip = service.pointer("/spec/clusterIP").and_then(Value::as_str)?;
    format!("{ip}:{port}").parse().ok()
}
