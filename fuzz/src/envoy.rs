//! Makes requests of Envoy from text that is easier to mutate than protobuf, and expresses them as HTTP
//! headers.

use http::{HeaderMap, HeaderName};
use rolegate_proto::envoy_auth_v3::{
    self as envoy, Address, AttributeContext, CheckRequest, HeaderValue, SocketAddress,
    attribute_context::{HttpRequest, Peer, Request},
};
use std::collections::HashMap;

/// Makes a request from lines. The first lines are method, scheme, host, path and address of the client.
///
/// Each further line is a header as in HTTP, after one character: `+` adds it to the map, `-` to the list as
/// bytes, and `=` to the list as text.
pub fn of_lines(lines: &[u8]) -> CheckRequest {
    let mut lines = lines.split(|&byte| byte == b'\n');
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut next = || text(lines.next().unwrap_or_default());
    let (method, scheme, host, path, address) = (next(), next(), next(), next(), next());
    let (mut headers, mut list) = (HashMap::new(), envoy::HeaderMap::default());
    for line in lines {
        let Some((form, line)) = line.split_first() else {
            continue;
        };
        let cut = line
            .iter()
            .position(|&byte| byte == b':')
            .unwrap_or(line.len());
        let (key, value) = (text(&line[..cut]), line.get(cut + 1..).unwrap_or_default());
        let (none, raw_value) = (String::new(), value.to_vec());
        match form {
            b'+' => _ = headers.insert(key, text(value)),
            b'=' => list.headers.push(HeaderValue {
                key,
                value: text(value),
                raw_value: Vec::new(),
            }),
            _ => list.headers.push(HeaderValue {
                key,
                value: none,
                raw_value,
            }),
        }
    }
    let header_map = Some(list).filter(|list| !list.headers.is_empty());
    let http = Some(HttpRequest {
        method,
        scheme,
        host,
        path,
        headers,
        header_map,
    });
    let address = Some(Address {
        socket_address: Some(SocketAddress { address }),
    });
    let (source, request) = (Some(Peer { address }), Some(Request { http }));
    let attributes = AttributeContext {
        source,
        request,
        ..AttributeContext::default()
    };
    CheckRequest {
        attributes: Some(attributes),
    }
}

/// Returns the headers that a proxy would send to ask about this request over HTTP. Returns `None` if HTTP
/// cannot express them.
pub fn as_http(asked: &HttpRequest) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut add = |name: &str, value: &[u8]| {
        let name: HeaderName = name.parse().ok()?;
        if !name.as_str().starts_with("x-forwarded-") {
            headers.append(name, http::HeaderValue::from_bytes(value).ok()?);
        }
        Some(())
    };
    for (name, value) in &asked.headers {
        add(name, value.as_bytes())?;
    }
    for header in asked.header_map.iter().flat_map(|map| &map.headers) {
        let value = match (header.value.as_bytes(), &header.raw_value[..]) {
            ([], raw) => raw,
            (text, []) => text,
            _ => return None,
        };
        add(&header.key, value)?;
    }
    for (name, value) in [
        ("x-forwarded-method", &asked.method),
        ("x-forwarded-proto", &asked.scheme),
        ("x-forwarded-host", &asked.host),
        ("x-forwarded-uri", &asked.path),
    ] {
        let is_visible = value.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let value = http::HeaderValue::from_str(value)
            .ok()
            .filter(|_| is_visible)?;
        headers.insert(HeaderName::from_static(name), value);
    }
    Some(headers)
}
