//! Extracts the user whom a proxy names in its headers after it has asked Rolegate. The headers count only if
//! the connection comes from one of the application's proxies.

use super::{api_error::ApiError, log_limit::should_log};
use crate::user::User;
use axum::extract::{ConnectInfo, FromRef, FromRequestParts};
use http::{HeaderMap, StatusCode, request::Parts};
use ipnet::IpNet;
use rolegate_proto::{
    GroupName,
    identity_headers::{GROUPS, ROLE, USER_ID, USERNAME, decode},
    metadata,
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Instant,
};

/// The networks from which the proxies of an application connect. Any program that can connect from there can
/// claim to be any user.
#[derive(Clone, Debug)]
pub struct ProxyPeers {
    networks: Arc<[IpNet]>,
}

impl ProxyPeers {
    /// Creates a list of networks. For a single address, use a network of `/32` or `/128`.
    ///
    /// # Errors
    ///
    /// Returns [`io::ErrorKind::InvalidInput`] if the list is empty or contains a network of all addresses.
    pub fn new(networks: impl IntoIterator<Item = IpNet>) -> io::Result<Self> {
        let networks: Arc<[_]> = networks.into_iter().collect();
        if networks.is_empty() || networks.iter().any(|network| network.prefix_len() == 0) {
            let problem = "the list of proxies is empty or includes every address";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, problem));
        }
        Ok(Self { networks })
    }

    /// Returns whether a network of the list contains an address. An IPv4-mapped address, which a socket for
    /// both IP versions reports, counts as the IPv4 address.
    fn contain(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks
            .iter()
            .any(|network| network.contains(&address))
    }
}

/// The user of a request, whom a proxy of [`ProxyPeers`] names in its headers.
///
/// The role is the one that Rolegate returned to the proxy. Serve the routes with
/// `into_make_service_with_connect_info::<SocketAddr>()`, because without the address of the connection every
/// request is refused. The extractor rejects a request with 403 `IDENTITY_REFUSED` if it comes from another
/// peer or has malformed headers, and with 401 if it has none of these headers.
///
/// ```
/// # use rolegate_auth_client::axum::{ProxyPeers, ProxyUser};
/// # use axum::{Router, routing::get};
/// # fn routes() -> Result<Router, Box<dyn std::error::Error>> {
/// let proxies = ProxyPeers::new(["127.0.0.1/32".parse()?])?;
/// let greet = async |ProxyUser(user): ProxyUser| format!("Hello {}", user.username);
/// Ok(Router::new().route("/", get(greet)).with_state(proxies))
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct ProxyUser(pub User);

impl<S> FromRequestParts<S> for ProxyUser
where
    S: Sync,
    ProxyPeers: FromRef<S>,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let connection = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let peer = connection.map(|ConnectInfo(address)| address.ip());
        let is_proxy = peer.is_some_and(|peer| ProxyPeers::from_ref(state).contain(peer));
        if !is_proxy {
            log_refused_peer(peer);
            return Err(refused());
        }
        let names = [USER_ID, USERNAME, ROLE];
        if names.iter().all(|name| !parts.headers.contains_key(*name)) {
            return Err(ApiError::not_authenticated());
        }
        parse_user(&parts.headers).map(Self).ok_or_else(refused)
    }
}

fn log_refused_peer(peer: Option<IpAddr>) {
    if should_log("the identity of a peer", Instant::now()) {
        tracing::warn!(
            peer = peer.map(tracing::field::display),
            "refused the identity of a peer that is unknown or not in the list of proxies"
        );
    }
}

fn refused() -> ApiError {
    let detail = "The request did not come through the proxy.";
    ApiError::new(StatusCode::FORBIDDEN, "IDENTITY_REFUSED", detail)
}

/// Reads the user from the headers; `None` if a header is missing, repeated or malformed.
fn parse_user(headers: &HeaderMap) -> Option<User> {
    let id_text = only_value(headers, USER_ID)?;
    let id: i64 = id_text.parse().ok()?;
    // A proxy writes an id in only one form: without a sign and without leading zeros.
    if id <= 0 || id.to_string() != id_text {
        return None;
    }
    Some(User {
        id,
        username: decode(only_value(headers, USERNAME)?)?,
        role: only_value(headers, ROLE)?.parse().ok()?,
        unknown_role: None,
        created_at: None,
        groups: parse_groups(headers)?,
    })
}

/// Reads the names of groups; `None` if the header is repeated or malformed. A proxy with a configuration of the
/// previous release sends no groups.
fn parse_groups(headers: &HeaderMap) -> Option<Vec<String>> {
    if !headers.contains_key(GROUPS) {
        return Some(Vec::new());
    }
    let names = match only_value(headers, GROUPS)?.trim() {
        "" => Vec::new(),
        names => GroupName::parse_list(names).ok()?,
    };
    Some(names.iter().map(GroupName::to_string).collect())
}

/// Returns the value of a header that the request has exactly once; `None` otherwise, and for a value that is
/// not text.
fn only_value<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    metadata::only_value(headers.get_all(name))?.to_str().ok()
}

#[cfg(test)]
mod tests {
    use super::{ProxyPeers, ProxyUser};
    use axum::{Router, body::Body, extract::ConnectInfo, routing::get};
    use http::{Request, StatusCode};
    use std::{io, net::SocketAddr};
    use tower::ServiceExt as _;

    const ANN: [(&str, &str); 3] = [
        ("rolegate-user-id", "7"),
        ("rolegate-username", "ann"),
        ("rolegate-role", "author"),
    ];

    fn peers(networks: &[&str]) -> io::Result<ProxyPeers> {
        ProxyPeers::new(networks.iter().map(|it| it.parse().expect("a network")))
    }

    /// Returns the status of a request to a handler that asserts the user's name.
    async fn status(peer: Option<&str>, headers: &[(&str, &str)], name: &'static str) -> u16 {
        let handler = async move |ProxyUser(user): ProxyUser| {
            assert_eq!(
                (user.id, &*user.username, user.role.as_str()),
                (7, name, "author")
            );
        };
        let peers = peers(&["127.0.0.1/32", "10.1.0.0/16", "fd00::/8"]).expect("a list");
        let routes = Router::new().route("/", get(handler)).with_state(peers);
        let mut request = Request::get("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let mut request = request.body(Body::empty()).expect("a request");
        if let Some(peer) = peer {
            let peer: SocketAddr = peer.parse().expect("an address");
            request.extensions_mut().insert(ConnectInfo(peer));
        }
        let response = routes.oneshot(request).await.expect("infallible");
        response.status().as_u16()
    }

    #[tokio::test]
    async fn only_peers_of_the_list_are_believed() {
        for peer in [
            "127.0.0.1:1",
            "[::ffff:127.0.0.1]:1",
            "10.1.255.1:1",
            "[fd00::1]:1",
        ] {
            assert_eq!(status(Some(peer), &ANN, "ann").await, 200, "{peer}");
            assert_eq!(status(Some(peer), &[], "").await, 401, "{peer}");
        }
        let forwarded = [ANN[0], ANN[1], ANN[2], ("x-forwarded-for", "127.0.0.1")];
        for peer in [
            None,
            Some("127.0.0.2:1"),
            Some("[::1]:1"),
            Some("[::ffff:192.0.2.1]:1"),
        ] {
            for headers in [&ANN[..], &forwarded, &[]] {
                assert_eq!(status(peer, headers, "").await, 403, "{peer:?}");
            }
        }
    }

    #[test]
    fn list_of_peers_is_required() {
        assert!(peers(&[]).is_err());
        for everybody in ["0.0.0.0/0", "::/0"] {
            assert!(peers(&["127.0.0.1/32", everybody]).is_err(), "{everybody}");
        }
    }

    #[tokio::test]
    async fn name_is_as_typed() {
        for (value, name) in [
            ("bea%40corp.example", "bea@corp.example"),
            ("j%C3%B6rg %25%2C", "j\u{f6}rg %,"),
            ("%20ann", " ann"),
        ] {
            let headers = [ANN[0], ("rolegate-username", value), ANN[2]];
            assert_eq!(status(Some("127.0.0.1:1"), &headers, name).await, 200);
        }
    }

    #[tokio::test]
    async fn malformed_missing_or_repeated_header_is_refused() {
        let refused = StatusCode::FORBIDDEN.as_u16();
        for (header, values) in [
            (
                0,
                &["", "0", "-7", "+7", "07", "7,7", "x", "9223372036854775808"][..],
            ),
            (
                1,
                &[
                    "",
                    "a,b",
                    "a+b",
                    "a%",
                    "a%4",
                    "a%zz",
                    "%FF",
                    "j\u{f6}rg",
                    "%ED%A0%80",
                ],
            ),
            (2, &["", "Author", "author,admin", "author author"]),
        ] {
            for value in values {
                let mut headers = ANN;
                headers[header].1 = value;
                let answer = status(Some("127.0.0.1:1"), &headers, "").await;
                assert_eq!(answer, refused, "{value}");
            }
            let rest: Vec<_> = ANN.into_iter().filter(|it| *it != ANN[header]).collect();
            assert_eq!(status(Some("127.0.0.1:1"), &rest, "").await, refused);
            let twice = [ANN[0], ANN[1], ANN[2], ANN[header]];
            assert_eq!(status(Some("127.0.0.1:1"), &twice, "").await, refused);
        }
    }
}
