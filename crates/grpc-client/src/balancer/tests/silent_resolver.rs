//! Tests a resolver that stops answering.

use super::{address, fake_replica::severable_replica};
use crate::{connection::Stream, discovery::Discover};
use async_trait::async_trait;
use http::Uri;
use std::{
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::task::AbortHandle;

/// Replicas whose connections the test can cut, and a resolver that hangs at its second resolution.
#[derive(Clone, Default)]
pub(super) struct SilentResolver {
    pub(super) resolutions: Arc<AtomicUsize>,
    pub(super) links: Arc<Mutex<Vec<(SocketAddr, AbortHandle)>>>,
}

impl SilentResolver {
    pub(super) fn connections_to(&self, replica: SocketAddr) -> usize {
        let links = self.links.lock().expect("no panic");
        links
            .iter()
            .filter(|(address, _)| *address == replica)
            .count()
    }
}

#[async_trait]
impl Discover for SilentResolver {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        match self.resolutions.fetch_add(1, Ordering::SeqCst) {
            0 => Ok(vec![address(1)]),
            1 => std::future::pending().await,
            _ => Ok(vec![address(1), address(2)]),
        }
    }

    async fn connect(&self, replica: SocketAddr) -> io::Result<Box<dyn Stream>> {
        let (near, link) = severable_replica();
        self.links.lock().expect("no panic").push((replica, link));
        Ok(Box::new(near))
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://auth-service")
    }
}
