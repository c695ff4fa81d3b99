//! An address in front of servers, as kube-proxy puts a Service's in front of Pods.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

pub(crate) struct Service {
    address: SocketAddr,
    runtime: Handle,
    behind: Arc<Behind>,
    /// `None` while nothing is behind the address: then a connection is refused.
    listening: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Behind {
    servers: Mutex<Vec<SocketAddr>>,
    connections: AtomicUsize,
    /// What is sent stays on the way.
    hangs: AtomicBool,
}

impl Service {
    pub(crate) fn new(address: SocketAddr, runtime: Handle) -> Self {
        Self { address, runtime, behind: Arc::default(), listening: Mutex::default() }
    }

    /// From now on new connections go to these, in turns.
    pub(crate) fn leads_to(&self, servers: Vec<SocketAddr>) -> Result<()> {
        let is_empty = servers.is_empty();
        *self.behind.servers.lock().unwrap_or_else(PoisonError::into_inner) = servers;
        let mut listening = self.listening.lock().unwrap_or_else(PoisonError::into_inner);
        if is_empty {
            if let Some(task) = listening.take() {
                task.abort();
            }
        } else if listening.is_none() {
            let bound = self.runtime.block_on(TcpListener::bind(self.address));
            let listener = bound.with_context(|| format!("cannot listen at {}", self.address))?;
            *listening = Some(self.runtime.spawn(accept(listener, Arc::clone(&self.behind))));
        }
        Ok(())
    }

    pub(crate) fn hangs(&self, hangs: bool) {
        self.behind.hangs.store(hangs, Ordering::Relaxed);
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let task = self.listening.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
        }
    }
}

impl Behind {
    fn next(&self) -> Option<SocketAddr> {
        let servers = self.servers.lock().unwrap_or_else(PoisonError::into_inner);
        let turn = self.connections.fetch_add(1, Ordering::Relaxed).checked_rem(servers.len())?;
        servers.get(turn).copied()
    }
}

async fn accept(listener: TcpListener, behind: Arc<Behind>) {
    while let Ok((client, _)) = listener.accept().await {
        let behind = Arc::clone(&behind);
        tokio::spawn(async move {
            let Some(address) = behind.next() else { return };
            let Ok(server) = TcpStream::connect(address).await else { return };
            let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
            tokio::join!(pump(&behind, from_client, to_server), pump(&behind, from_server, to_client));
        });
    }
}

async fn pump(behind: &Behind, mut from: impl AsyncRead + Unpin, mut to: impl AsyncWrite + Unpin) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        while behind.hangs.load(Ordering::Relaxed) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        if to.write_all(buffer.get(..read).unwrap_or_default()).await.is_err() {
            break;
        }
    }
    // What the other side still sends has nobody to read it.
    let _ = to.shutdown().await;
}
