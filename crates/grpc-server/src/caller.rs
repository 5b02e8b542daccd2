//! The caller of a call: whether it is trusted, and the address of the end user.

use crate::{connection::ConnectionInfo, unfinished::Unfinished};
use http::{Extensions, HeaderName, Request};
use rolegate_http_server::ignored_address::AddressHeader;
use rolegate_program::cidr_set::CidrSet;
use rolegate_proto::metadata;
use std::net::IpAddr;
use tonic::transport::server::{TcpConnectInfo, TlsConnectInfo};

/// Client addresses that callers outside of `TRUSTED_GATEWAYS` report.
pub static IGNORED: AddressHeader = AddressHeader::new(
    metadata::CLIENT_ADDRESS,
    "TRUSTED_GATEWAYS",
    "gateway or a service of yours",
);

/// Parsed once, not with each call.
const CLIENT_ADDRESS: HeaderName = HeaderName::from_static(metadata::CLIENT_ADDRESS);

/// In the extensions of every call from this process and of no other call. A missing peer address
/// is no such mark: a socket whose peer has closed it has none either.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InProcessPeer;

#[derive(Debug)]
pub(crate) struct Caller {
    /// See [`is_trusted_caller`]. Unknown peers are untrusted.
    pub(crate) is_trusted: bool,
    /// The address of the end user: the one that a trusted caller reports, else that of the caller.
    pub(crate) client_address: Option<IpAddr>,
    /// Of its connection, and its address without a verified certificate; `None` in this process.
    pub(crate) unfinished: Option<(Unfinished, Option<IpAddr>)>,
}

/// Whether the caller of the call with these extensions may report client address, request id and
/// trace: it has an address in a trusted network, a verified certificate, or is in this process.
#[must_use]
pub fn is_trusted_caller(extensions: &Extensions, trusted: &CidrSet) -> bool {
    Peer::of(extensions).is_trusted(extensions, trusted)
}

/// The other end of a connection.
struct Peer<'a> {
    unfinished: Option<&'a Unfinished>,
    address: Option<IpAddr>,
    has_verified_certificate: bool,
}

impl<'a> Peer<'a> {
    fn of(extensions: &'a Extensions) -> Self {
        let tls = extensions.get::<ConnectionInfo<TlsConnectInfo<TcpConnectInfo>>>();
        let plain = extensions.get::<ConnectionInfo<TcpConnectInfo>>();
        let unfinished = tls.map(|info| &info.unfinished);
        let unfinished = unfinished.or_else(|| plain.map(|info| &info.unfinished));
        let tls = tls.map(|info| &info.peer);
        let tcp = tls.map(TlsConnectInfo::get_ref).or_else(|| plain.map(|info| &info.peer));
        let address = tcp.and_then(TcpConnectInfo::remote_addr).map(|address| address.ip());
        let certificates = tls.and_then(TlsConnectInfo::peer_certs);
        let has_verified_certificate =
            certificates.is_some_and(|certificates| !certificates.is_empty());
        Self { unfinished, address, has_verified_certificate }
    }

    fn is_trusted(&self, extensions: &Extensions, trusted: &CidrSet) -> bool {
        self.has_verified_certificate
            || self.address.is_some_and(|address| trusted.contains(address))
            || extensions.get::<InProcessPeer>().is_some()
    }
}

impl Caller {
    pub(crate) fn of<B>(request: &Request<B>, trusted: &CidrSet) -> Self {
        let extensions = request.extensions();
        let peer = Peer::of(extensions);
        let is_trusted = peer.is_trusted(extensions, trusted);
        let Peer { unfinished, address, has_verified_certificate } = peer;
        let unfinished = unfinished.cloned();
        let unfinished = unfinished
            .map(|unfinished| (unfinished, address.filter(|_| !has_verified_certificate)));
        let reported = request.headers().get(CLIENT_ADDRESS);
        if !is_trusted && reported.is_some() {
            IGNORED.ignore(address);
        }
        let reported = reported.filter(|_| is_trusted);
        let reported = reported.and_then(|value| value.to_str().ok()?.parse().ok());
        Self { is_trusted, client_address: reported.or(address), unfinished }
    }
}

#[cfg(test)]
mod tests {
    use super::{Caller, InProcessPeer};
    use crate::connection::ConnectionInfo;
    use http::Request;
    use rolegate_program::cidr_set::CidrSet;
    use std::net::{IpAddr, SocketAddr};
    use tokio::{
        io::AsyncReadExt as _,
        net::{TcpListener, TcpStream},
    };
    use tonic::transport::server::{Connected as _, TcpConnectInfo};

    /// The client address that every call here reports.
    const REPORTED: &str = "192.0.2.1";

    fn call_over(connection: impl Clone + Send + Sync + 'static) -> Request<()> {
        let request = Request::builder().header("x-client-address", REPORTED);
        request.extension(connection).body(()).expect("a request")
    }

    fn call_from(address: &str) -> Request<()> {
        let remote_addr: Option<SocketAddr> = Some(address.parse().expect("an address"));
        call_over(ConnectionInfo::of(TcpConnectInfo { local_addr: None, remote_addr }))
    }

    fn is_trusted(call: &Request<()>, trusted: &CidrSet) -> bool {
        Caller::of(call, trusted).is_trusted
    }

    fn client_address(call: &Request<()>, trusted: &CidrSet) -> Option<IpAddr> {
        Caller::of(call, trusted).client_address
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
    fn without_a_valid_report_the_address_of_a_trusted_caller_is_the_client_address() {
        let trusted = networks("10.0.0.0/8");
        let mut call = call_from("10.0.0.1:5");
        call.headers_mut().insert("x-client-address", "nonsense".parse().expect("a value"));
        assert_eq!(client_address(&call, &trusted), Some(ip("10.0.0.1")));
        call.headers_mut().clear();
        assert_eq!(client_address(&call, &trusted), Some(ip("10.0.0.1")));
    }

    #[test]
    fn a_caller_in_this_process_is_trusted() {
        let call = call_over(InProcessPeer);
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
        assert!(!is_trusted(&call_over(ConnectionInfo::of(info.clone())), &all));
        assert_eq!(client_address(&call_over(ConnectionInfo::of(info)), &all), None);
    }
}
