//! Replaces the lookup of a DNS name by the replicas of a scenario.

use crate::connection::{Host, Stream};
use async_trait::async_trait;
use http::Uri;
use rolegate_grpc_tls::ClientTls;
use std::{cell::RefCell, io, net::SocketAddr, sync::Arc};

/// The service that a channel calls, as in the product.
#[derive(Clone, Copy, Debug)]
pub struct ServiceInfo {
    /// The name of the program.
    pub program: &'static str,
    /// The default port, which nothing reads here.
    pub default_port: u16,
    /// The name of the service in health checks.
    pub health_name: &'static str,
}

#[async_trait]
pub(crate) trait Discover: Send + Sync + 'static {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>>;
    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>>;
    fn origin(&self) -> Uri;
}

/// The error for an address that cannot be parsed, which never occurs here.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("no such address")]
pub struct InvalidAddress;

thread_local! {
    /// The replicas of the schedule, whose tasks all run on one thread.
    static NETWORK: RefCell<Vec<Arc<Host>>> = const { RefCell::new(Vec::new()) };
}

/// Makes these the replicas that a name resolves to.
pub(crate) fn set_network(hosts: &[Arc<Host>]) {
    NETWORK.set(hosts.to_vec());
}

fn hosts() -> Vec<Arc<Host>> {
    NETWORK.with_borrow(Clone::clone)
}

#[derive(Debug)]
pub(crate) struct DnsTarget;

impl DnsTarget {
    pub(crate) fn parse(
        _: ServiceInfo,
        _: &str,
        _: Option<ClientTls>,
    ) -> Result<Self, InvalidAddress> {
        Ok(Self)
    }
}

#[async_trait]
impl Discover for DnsTarget {
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(hosts().iter().map(|host| host.address).collect())
    }

    async fn connect(&self, address: SocketAddr) -> io::Result<Box<dyn Stream>> {
        match hosts().into_iter().find(|host| host.address == address) {
            Some(host) if !host.is_gone() => Ok(Box::new(host)),
            _ => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://replicas")
    }
}

pub(crate) struct SingleReplica<C> {
    pub(crate) connector: C,
}

#[async_trait]
impl<C, F> Discover for SingleReplica<C>
where
    C: Fn() -> F + Send + Sync + 'static,
    F: Future<Output = io::Result<Box<dyn Stream>>> + Send + 'static,
{
    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        Ok(vec![SocketAddr::from(([0, 0, 0, 0], 0))])
    }

    async fn connect(&self, _: SocketAddr) -> io::Result<Box<dyn Stream>> {
        (self.connector)().await
    }

    fn origin(&self) -> Uri {
        Uri::from_static("http://in-memory")
    }
}
