//! Whose word is believed, and the end user's address.

use crate::in_process::InProcessPeer;
use rolegate_proto::metadata::CLIENT_ADDRESS;
use rolegate_service_runtime::cidr_set::CidrSet;
use std::net::IpAddr;
use tonic::{Request, metadata::MetadataMap};

/// Whether the caller's word about those it calls for counts: it has one of these addresses, a
/// certificate that was verified in the handshake, or is in this process. Of whom nothing is known,
/// nothing is believed.
#[must_use]
pub fn is_trusted<M>(request: &Request<M>, trusted: &CidrSet) -> bool {
    request.peer_certs().is_some_and(|certificates| !certificates.is_empty())
        || request.remote_addr().is_some_and(|caller| trusted.contains(caller.ip()))
        || request.extensions().get::<InProcessPeer>().is_some()
}

/// The end user's address: the caller's word if the caller is trusted, else the caller's own address.
#[must_use]
pub fn client_address<M>(request: &Request<M>, trusted: &CidrSet) -> Option<IpAddr> {
    let word = told(request.metadata()).filter(|_| is_trusted(request, trusted));
    word.or(request.remote_addr().map(|address| address.ip()))
}

fn told(metadata: &MetadataMap) -> Option<IpAddr> {
    metadata.get(CLIENT_ADDRESS)?.to_str().ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{client_address, is_trusted};
    use crate::in_process::InProcess;
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

    /// The end user whom every call here names.
    const WORD: &str = "192.0.2.1";

    fn call_over(connection: impl Clone + Send + Sync + 'static) -> Request<()> {
        let mut request = Request::new(());
        request.metadata_mut().insert("x-client-address", MetadataValue::from_static(WORD));
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
    fn an_address_is_trusted_or_stands_for_itself() {
        let trusted = networks("10.0.0.0/8");
        assert!(is_trusted(&call_from("10.0.0.1:5"), &trusted));
        assert_eq!(client_address(&call_from("10.0.0.1:5"), &trusted), Some(ip(WORD)));
        assert!(!is_trusted(&call_from("11.0.0.1:5"), &trusted));
        assert_eq!(client_address(&call_from("11.0.0.1:5"), &trusted), Some(ip("11.0.0.1")));
    }

    #[test]
    fn a_caller_in_this_process_is_trusted_whatever_the_networks_are() {
        let (_near, far) = duplex(1);
        let call = call_over(InProcess(far).connect_info());
        assert!(is_trusted(&call, &CidrSet::default()));
        assert_eq!(client_address(&call, &CidrSet::default()), Some(ip(WORD)));
    }

    #[test]
    fn a_stream_without_that_mark_is_not_trusted_for_having_no_address() {
        let everybody = networks("0.0.0.0/0,::/0");
        // What tonic says of a bare stream in memory.
        assert!(!is_trusted(&call_over(()), &everybody));
        assert!(!is_trusted(&Request::new(()), &everybody));
    }

    /// Who sends a call and resets the connection may be gone before anybody asks for the address.
    #[tokio::test]
    async fn a_socket_whose_peer_cannot_be_told_any_more_is_not_believed() {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let caller = TcpStream::connect(address).await.expect("the kernel answers");
        let (mut accepted, _) = listener.accept().await.expect("accepted");
        caller.set_zero_linger().expect("set");
        drop(caller);
        accepted.read_u8().await.expect_err("a reset");
        let info = accepted.connect_info();
        assert_eq!(info.remote_addr, None, "the kernel still knows it");
        let everybody = networks("0.0.0.0/0,::/0");
        assert!(!is_trusted(&call_over(info.clone()), &everybody));
        assert_eq!(client_address(&call_over(info), &everybody), None);
    }
}
