//! Fuzzes the file of `PASSWORD_BLOCKLIST_FILE`. Every password and every digest in the file must be refused
//! and counted, and no other password may be refused. A file that is no list must cause an error that quotes
//! none of its content.
//!
//! The input is the file.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ring::digest::{SHA1_FOR_LEGACY_USE_ONLY as SHA1, digest};
use rolegate_auth_service::fuzzing::Blocklist;
use std::{cell::RefCell, collections::HashSet, fs::File, os::unix::fs::FileExt as _};
use tempfile::NamedTempFile;

const PROBES: [&str; 5] = ["password", "123456", "", "correct horse", "P@ssw0rd"];

fuzz_target!(|data: &[u8]| {
    thread_local! {
        static FILE: RefCell<NamedTempFile> = RefCell::new(file());
    }
    let listed = FILE.with_borrow(|file| {
        write(file.as_file(), data);
        Blocklist::load(file.path()).map(|blocklist| {
            let lines = data
                .split(|&byte| byte == b'\n')
                .filter_map(|line| str::from_utf8(line).ok());
            let passwords = PROBES
                .into_iter()
                .chain(lines.flat_map(|it| [it, it.trim_end_matches('\r')]));
            let found = passwords
                .map(|it| (digest_of(it.as_bytes()), blocklist.contains(it)))
                .collect::<Vec<_>>();
            (blocklist.count(), found)
        })
    });
    match (listed, again(data)) {
        (Ok((count, found)), Ok((lines, digests))) => {
            assert_eq!(count, lines);
            for (digest, is_listed) in found {
                assert_eq!(is_listed, digests.contains(&digest), "{digest:x}");
            }
        }
        (Err(error), Err(line)) => {
            let number = error
                .split("line ")
                .nth(1)
                .map(|it| it.split(' ').next().unwrap_or_default());
            assert_eq!(number.and_then(|it| it.parse().ok()), line, "{error}");
            assert!(error.len() < 300);
        }
        (listed, again) => panic!("{:?} {:?}", listed.map(|it| it.0), again.map(|it| it.0)),
    }
});

/// Creates the file in memory where that is possible.
fn file() -> NamedTempFile {
    NamedTempFile::new_in("/dev/shm")
        .or_else(|_| NamedTempFile::new())
        .expect("a file")
}

fn write(file: &File, data: &[u8]) {
    file.set_len(data.len() as u64).expect("set");
    file.write_all_at(data, 0).expect("written");
}

/// Returns the 64 bits of the digest that the product stores.
fn digest_of(password: &[u8]) -> u64 {
    let digest = digest(&SHA1, password);
    let (first, _) = digest.as_ref().split_first_chunk().expect("20 bytes");
    u64::from_be_bytes(*first)
}

/// Returns the number of passwords and their digests. Returns an error with the number of the invalid line, or
/// with `None` for a file without passwords.
fn again(data: &[u8]) -> Result<(usize, HashSet<u64>), Option<usize>> {
    let (mut count, mut digests) = (0, HashSet::new());
    let lines: Vec<_> = data.split(|&byte| byte == b'\n').collect();
    for (index, line) in lines.iter().enumerate() {
        let is_last = index + 1 == lines.len();
        if line.len() + usize::from(!is_last) > 4096 || (is_last && line.len() == 4096) {
            return Err(Some(index + 1));
        }
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if index == 0 {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        if line.contains(&0) {
            return Err(Some(index + 1));
        }
        let (digits, times) = match line.iter().position(|&byte| byte == b':') {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &b"1"[..]),
        };
        let is_counted = !times.is_empty() && times.iter().all(u8::is_ascii_digit);
        let is_digest = is_counted && digits.iter().all(u8::is_ascii_hexdigit);
        match digits.len() {
            // A line with an NTLM digest is an error: the product compares SHA-1 digests, so the line would
            // refuse no password.
            32 if is_digest && line.len() > 32 => return Err(Some(index + 1)),
            40 if is_digest => {
                let digits = str::from_utf8(&digits[..16]).expect("ASCII");
                digests.insert(u64::from_str_radix(digits, 16).expect("hex digits"));
            }
            _ if line.is_empty() => continue,
            _ => _ = digests.insert(digest_of(line)),
        }
        count += 1;
    }
    if count == 0 {
        Err(None)
    } else {
        Ok((count, digests))
    }
}
