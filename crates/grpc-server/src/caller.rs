//! Which callers are trusted, and the address of the end user.

use crate::connection::InProcessPeer;
use rolegate_proto::metadata::CLIENT_ADDRESS;
use rolegate_service_runtime::cidr_set::CidrSet;
use std::net::IpAddr;
use tonic::{Request, metadata::MetadataMap};

/// Whether the caller may report client address, request id and trace: it has an address in `trusted`,
/// a verified certificate, or is in this process. Unknown peers are untrusted.
#[must_use]
pub fn is_trusted<M>(request: &Request<M>, trusted: &CidrSet) -> bool {
    request.peer_certs().is_some_and(|certificates| !certificates.is_empty())
        || request.remote_addr().is_some_and(|caller| trusted.contains(caller.ip()))
        || request.extensions().get::<InProcessPeer>().is_some()
}

/// The address of the end user: the one that a trusted caller reports, else that of the caller.
#[must_use]
pub fn client_address<M>(request: &Request<M>, trusted: &CidrSet) -> Option<IpAddr> {
    metadata_address(request.metadata())
        .filter(|_| is_trusted(request, trusted))
        .or(request.remote_addr().map(|address| address.ip()))
}

fn metadata_address(metadata: &MetadataMap) -> Option<IpAddr> {
    metadata.get(CLIENT_ADDRESS)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{client_address, is_trusted};
    use crate::connection::Connection;
    use rolegate_service_runtime::cidr_set::CidrSet;
    use std::net::{IpAddr, SocketAddr};
    use tokio::{
        io::{AsyncReadExt as _, duplex},
        net::{TcpListener, TcpStream},
    };
    use tonic::{
        Request,
        metadata::MetadataValue,
        transport::server::{Connected as _, TcpConnectInfo},
    };

    /// The client address that every call here reports.
    const REPORTED: &str = "192.0.2.1";

    fn call_over(connection: impl Clone + Send + Sync + 'static) -> Request<()> {
        let mut request = Request::new(());
        request.metadata_mut().insert("x-client-address", MetadataValue::from_static(REPORTED));
        request.extensions_mut().insert(connection);
        request
    }

    fn call_from(address: &str) -> Request<()> {
        let remote_addr: Option<SocketAddr> = Some(address.parse().expect("an address"));
        call_over(TcpConnectInfo { local_addr: None, remote_addr })
    }

    fn networks(text: &str) -> CidrSet {
        text.parse().expect("networks")
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_address_of_an_untrusted_caller_is_the_client_address() {
        let trusted = networks("10.0.0.0/8");
        assert!(is_trusted(&call_from("10.0.0.1:5"), &trusted));
        assert_eq!(client_address(&call_from("10.0.0.1:5"), &trusted), Some(ip(REPORTED)));
        assert!(!is_trusted(&call_from("11.0.0.1:5"), &trusted));
        assert_eq!(client_address(&call_from("11.0.0.1:5"), &trusted), Some(ip("11.0.0.1")));
    }

    #[test]
    fn a_caller_in_this_process_is_trusted() {
        let (_client, server) = duplex(1);
        let call = call_over(Connection::in_process(server).connect_info());
        assert!(is_trusted(&call, &CidrSet::default()));
        assert_eq!(client_address(&call, &CidrSet::default()), Some(ip(REPORTED)));
    }

    #[test]
    fn a_caller_without_an_address_is_untrusted() {
        let all = networks("0.0.0.0/0,::/0");
        // The connect info that tonic has for a stream in memory.
        assert!(!is_trusted(&call_over(()), &all));
        assert!(!is_trusted(&Request::new(()), &all));
    }

    /// A caller that resets its connection may leave a socket without a peer address.
    #[tokio::test]
    async fn a_socket_that_its_peer_has_reset_is_untrusted() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let caller = TcpStream::connect(address).await.expect("connected");
        let (mut accepted, _) = listener.accept().await.expect("accepted");
        caller.set_zero_linger().expect("set");
        drop(caller);
        accepted.read_u8().await.expect_err("a reset");
        let info = accepted.connect_info();
        assert_eq!(info.remote_addr, None, "the kernel still knows it");
        let all = networks("0.0.0.0/0,::/0");
        assert!(!is_trusted(&call_over(info.clone()), &all));
        assert_eq!(client_address(&call_over(info), &all), None);
    }
}
