//! Splits a connection URI into its parts, as libpq does:
//! <https://www.postgresql.org/docs/current/libpq-connect.html>.
//!
//! sqlx cannot do this, because it parses URLs by the rules of the web. By these rules a URL has only one host,
//! an IPv6 address keeps its brackets, a user without a host is refused, and `+` is read as a blank.

use percent_encoding::percent_decode_str;
use std::net::Ipv6Addr;

/// The parts of a URI that libpq accepts. A part that is missing is empty, and gets the default of libpq.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Uri {
    pub(super) user: String,
    pub(super) password: String,
    /// The servers in the order of the URI; at least one.
    pub(super) servers: Vec<Server>,
    pub(super) database: String,
    /// The names and values of the parameters, in the order of the URI.
    pub(super) parameters: Vec<(String, String)>,
}

/// The address of a server. The host is a name, an IP address, or the folder of a Unix socket.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) host: String,
    pub(super) port: Option<u16>,
}

impl Uri {
    /// Splits a URI, of which `after_scheme` is the part after `postgres://`. Returns `None` if libpq would not accept
    /// it.
    ///
    /// It also returns `None` if one of several hosts is empty, because a superfluous comma would then name the
    /// server of this machine.
    pub(super) fn parse(after_scheme: &str) -> Option<Self> {
        let (rest, query) = after_scheme.split_once('?').unwrap_or((after_scheme, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (user_info, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
        let servers: Vec<_> = hosts.split(',').map(Server::parse).collect::<Option<_>>()?;
        if servers.len() > 1 && servers.iter().any(|server| server.host.is_empty()) {
            return None;
        }
        let parameters = query.split('&').filter(|parameter| !parameter.is_empty());
        Some(Self {
            user: decode(user)?,
            password: decode(password)?,
            servers,
            database: decode(database)?,
            parameters: parameters.map(parse_parameter).collect::<Option<_>>()?,
        })
    }
}

impl Server {
    fn parse(text: &str) -> Option<Self> {
        let (host, port) = if let Some(bracketed) = text.strip_prefix('[') {
            let (address, port) = bracketed.split_once(']')?;
            (parse_ipv6(address)?, port)
        } else {
            let host = text.split(':').next()?;
            (decode(host)?, &text[host.len()..])
        };
        let port = match port {
            "" | ":" => None,
            port => Some(parse_port(port.strip_prefix(':')?)?),
        };
        Some(Self { host, port })
    }
}

/// Parses an IPv6 address, which may name its zone, as in `fe80::1%eth0`.
fn parse_ipv6(text: &str) -> Option<String> {
    let address = decode(text)?;
    address.split('%').next()?.parse::<Ipv6Addr>().ok()?;
    Some(address)
}

/// Parses a port, which consists of digits and is not 0.
pub(super) fn parse_port(text: &str) -> Option<u16> {
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|port| is_number && *port != 0)
}

/// Parses the name and the value of a parameter. A further `=`, which libpq wants encoded, is a part of the
/// value here.
fn parse_parameter(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((decode(name)?, decode(value)?))
}

/// Decodes `%XX`. Returns `None` for other uses of `%`, for NUL, and for bytes that are not UTF-8.
fn decode(text: &str) -> Option<String> {
    let mut escapes = text.split('%').skip(1);
    let is_hex = |escape: &str| {
        let digits = escape.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !escapes.all(is_hex) {
        return None;
    }
    let decoded = percent_decode_str(text).decode_utf8().ok()?;
    Some(decoded.into_owned()).filter(|decoded| !decoded.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::{Server, Uri};

    fn server(host: &str, port: Option<u16>) -> Server {
        let host = host.to_owned();
        Server { host, port }
    }

    fn parse(url: &str) -> Option<Uri> {
        let (_, after_scheme) = url.split_once("://").expect("a scheme");
        Uri::parse(after_scheme)
    }

    fn servers(url: &str) -> Vec<Server> {
        parse(url).expect(url).servers
    }

    #[test]
    fn hosts_are_names_addresses_and_folders_with_ports_of_their_own() {
        for (text, host, port) in [
            ("postgres://", "", None),
            ("postgres:///r", "", None),
            ("postgres://u@/r", "", None),
            ("postgres://:5433/r", "", Some(5433)),
            ("postgres://db:/r", "db", None),
            (
                "postgresql://u:p@db.example:6543/r",
                "db.example",
                Some(6543),
            ),
            ("postgres://u@[::1]:5432/r", "::1", Some(5432)),
            ("postgres://[2001:db8::7]", "2001:db8::7", None),
            ("postgres://[fe80::1%25eth0]:1/r", "fe80::1%eth0", Some(1)),
            (
                "postgres://u@%2Frun%2Fpostgresql/r",
                "/run/postgresql",
                None,
            ),
            ("postgres://u@%2Frun%2Fpg:5433/r", "/run/pg", Some(5433)),
        ] {
            assert_eq!(servers(text), [server(host, port)], "{text}");
        }
        assert_eq!(
            servers("postgres://u:p,w@a:1,b,[::1]:3/r"),
            [
                server("a", Some(1)),
                server("b", None),
                server("::1", Some(3))
            ]
        );
    }

    #[test]
    fn parts_are_decoded_as_libpq_does() {
        let uri = parse("postgres://a%40b:p%2F+:%20@db/r%3Fx?options=-c%20a%3Db+c&user=x@y")
            .expect("valid");
        assert_eq!(uri.user, "a@b");
        assert_eq!(uri.password, "p/+: ");
        assert_eq!(uri.database, "r?x");
        let parameters = [("options", "-c a=b+c"), ("user", "x@y")];
        let parameters = parameters.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(uri.parameters, parameters);
        let uri = parse("postgres://u:@db/?").expect("valid");
        assert_eq!([uri.password, uri.database], ["", ""]);
    }

    #[test]
    fn what_libpq_refuses_is_refused() {
        for text in [
            "postgres://[::1/r",
            "postgres://[::1]x/r",
            "postgres://[nowhere]/r",
            "postgres://a,,b/r",
            "postgres://u@db,/r",
            "postgres://db:many/r",
            "postgres://db:0/r",
            "postgres://db:65536/r",
            "postgres://db:+1/r",
            "postgres://db/r?sslmode",
            "postgres://u:50%@db/r",
            "postgres://u:%zz@db/r",
            "postgres://u:%00@db/r",
            "postgres://u:%ff@db/r",
        ] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
