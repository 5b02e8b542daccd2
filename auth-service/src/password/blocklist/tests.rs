use super::{Blocklist, digest_password};
use std::{fs, path::Path};
use tempfile::TempDir;

/// The SHA-1 digests of "password" and of "123456".
const PASSWORD: &str = "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8";
const NUMBERS: &str = "7c4a8d09ca3762af61e59520943dc26494f8941b";

fn read(bytes: &[u8]) -> Result<Blocklist, String> {
    let folder = TempDir::new().expect("a folder");
    let path = folder.path().join("blocklist");
    fs::write(&path, bytes).expect("written");
    Blocklist::read(&path)
}

fn lists(bytes: &[u8], password: &str) -> bool {
    read(bytes).expect("a list").contains(password)
}

fn problem(bytes: &[u8]) -> String {
    read(bytes).err().unwrap_or_default()
}

#[test]
fn lines_are_passwords_or_digests_in_any_order_and_end() {
    let digests = format!("{PASSWORD}:9545824\n{NUMBERS}");
    let mixed = format!("letmein\r\n\r\n{NUMBERS}:37359195\r\n\n{PASSWORD}\r\nzzz");
    for list in [
        "123456\npassword\n",
        "password\r\n123456",
        "\u{feff}password\n123456",
        &digests,
        &mixed,
    ] {
        for listed in ["password", "123456"] {
            assert!(lists(list.as_bytes(), listed), "{listed} in {list:?}");
        }
        for other in [
            "",
            "Password",
            "password ",
            "password\r",
            "1234567",
            PASSWORD,
            "\u{feff}",
        ] {
            assert!(!lists(list.as_bytes(), other), "{other:?} in {list:?}");
        }
    }
    assert!(lists(mixed.as_bytes(), "letmein") && lists(mixed.as_bytes(), "zzz"));
    assert_eq!(read(mixed.as_bytes()).expect("a list").digests.len(), 4);
}

#[test]
fn lines_that_only_look_like_digests_are_passwords() {
    for line in [
        &PASSWORD[1..],
        &format!("{PASSWORD}0"),
        &format!("{PASSWORD}:"),
        &format!("{PASSWORD}:x"),
        "a:1",
        ":",
        "32:10",
    ] {
        assert!(lists(line.as_bytes(), line), "{line}");
        assert!(!lists(line.as_bytes(), "password"), "{line}");
    }
    assert!(
        lists(b"p\xe4ss\npassword\n", "password"),
        "a line that is not UTF-8 harms no other"
    );
    assert!(!lists(b"p\xe4ss\n", "p\u{e4}ss"));
}

#[test]
fn every_line_of_a_long_list_is_found_and_nothing_else() {
    let list = (0..200_000)
        .map(|number| format!("{number}\n"))
        .rev()
        .collect::<String>();
    let list = read(list.as_bytes()).expect("a list");
    assert!((0..200_000).all(|number| list.contains(&number.to_string())));
    assert!(!(200_000..400_000).any(|number| list.contains(&number.to_string())));
    // The list takes 76.3 MiB for 10 million passwords.
    assert_eq!(list.digests.capacity(), 200_000);
}

#[test]
fn what_is_no_list_names_the_line_and_what_is_wrong() {
    let ntlm = format!("x\n{}:3\n", &PASSWORD[..32]);
    assert_eq!(
        problem(ntlm.as_bytes()),
        "line 2 is an NTLM digest; digests must be SHA-1, in 40 hex digits"
    );
    let utf16: Vec<u8> = "hunter2\n"
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let text = "line 1 has a NUL byte; it must be a text file in UTF-8, not compressed";
    assert_eq!(problem(&utf16), text);
    let long = ["ok\n".as_bytes(), &[b'x'; 5000]].concat();
    assert_eq!(
        problem(&long),
        "line 2 is longer than 4 KiB; there must be one password on each line"
    );
    for empty in ["", "\n\r\n\n", "\u{feff}"] {
        assert!(
            problem(empty.as_bytes()).starts_with("has no passwords"),
            "{empty:?}"
        );
    }
    let read = |path: &str| Blocklist::read(Path::new(path)).err();
    assert_eq!(read("/nowhere/at/all").as_deref(), Some("does not exist"));
    assert_eq!(read("/").as_deref(), Some("is not a file"));
    assert_eq!(read("/dev/zero").as_deref(), Some("is not a file"));
    let folder = TempDir::new().expect("a folder");
    let huge = folder.path().join("huge");
    fs::File::create(&huge)
        .and_then(|file| file.set_len((1 << 30) + 1))
        .expect("sparse");
    assert_eq!(
        Blocklist::read(&huge).err().as_deref(),
        Some("is larger than 1 GiB")
    );
}

#[test]
fn digests_are_those_of_public_lists() {
    assert_eq!(digest_password(b"password"), 0x5baa_61e4_c9b9_3f3f);
}
