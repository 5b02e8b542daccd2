//! Fuzzes the form of `/introspect`. The token must be the one that a second implementation finds. Any other
//! form must be refused with the right status.
//!
//! The first three lines of the input are the size of the pieces of the body, the minimum size of the body, and
//! the values of `Content-Type`, separated by `|`. The rest is the body.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rolegate_fuzz::{
    form::{fields, only},
    request::{essence, request, run},
};
use rolegate_gateway::fuzzing::introspect;

const MAX: usize = 64 * 1024;

fuzz_target!(|data: &[u8]| {
    let mut parts = data.splitn(4, |&byte| byte == b'\n');
    let mut next = || parts.next().unwrap_or_default();
    let number = |text| {
        str::from_utf8(text)
            .ok()
            .and_then(|it| it.parse::<usize>().ok())
    };
    let (pieces, least) = (number(next()).unwrap_or(0), number(next()).unwrap_or(0));
    let types: Vec<_> = next().split(|&byte| byte == b'|').collect();
    let mut body = next().to_vec();
    if (MAX - 2..MAX + 2).contains(&least) && body.len() < least {
        body.resize(least, b'&');
    }
    let request = request(&types, body.clone(), pieces);
    let is_form = essence(&request).as_deref() == Some("application/x-www-form-urlencoded");
    let expected = if body.len() > MAX {
        Err(413)
    } else if !is_form {
        Err(415)
    } else {
        token(&body).ok_or(400)
    };
    let found = run(introspect(request)).map_err(|error| error.status().as_u16());
    assert_eq!(found, expected);
});

fn token(body: &[u8]) -> Option<String> {
    str::from_utf8(body).ok()?;
    let fields = fields(body)?;
    only(&fields, "token_type_hint").ok()?;
    only(&fields, "token").ok()?.map(str::to_owned)
}
