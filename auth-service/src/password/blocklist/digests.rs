//! Reads the digests of a file of passwords.

use sha1::{Digest, Sha1};
use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, Read as _},
    path::Path,
};

/// 1 GiB.
const MAX_FILE_SIZE: u64 = 1 << 30;
/// Bytes of a line with its end, far more than a password may have.
const MAX_LINE: u64 = 4 * 1024;
const BUFFER_SIZE: usize = 64 * 1024;

/// Hex digits of SHA-1, and of the NTLM digests that the same lists offer.
const SHA1_DIGITS: usize = 40;
const NTLM_DIGITS: usize = 32;

/// A file is no list of passwords. Displayed after its path; never quotes a line.
#[derive(Debug, thiserror::Error)]
pub(super) enum BlocklistError {
    /// It cannot be read.
    #[error("{}", explain(.0))]
    Io(#[from] io::Error),
    /// A folder or a pipe.
    #[error("is not a file")]
    NotAFile,
    /// More bytes than are read.
    #[error("is larger than 1 GiB")]
    TooLarge,
    /// No line has a password or a digest.
    #[error("has no passwords; remove the setting, or put one password on each line")]
    Empty,
    /// No password is that long.
    #[error("line {0} is longer than 4 KiB; there must be one password on each line")]
    LongLine(u64),
    /// Compressed, or in UTF-16.
    #[error("line {0} has a NUL byte; it must be a text file in UTF-8, not compressed")]
    Nul(u64),
    /// A digest that is not of SHA-1.
    #[error("line {0} is an NTLM digest; digests must be of SHA-1, in {SHA1_DIGITS} hex digits")]
    Ntlm(u64),
    /// Another program writes it.
    #[error("has changed while it was read")]
    Changed,
}

fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "is not readable by this user".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

pub(super) fn open(path: &Path) -> Result<File, BlocklistError> {
    // Asked first: opening a pipe waits for its writer.
    let metadata = std::fs::metadata(path)?;
    if !metadata.is_file() {
        return Err(BlocklistError::NotAFile);
    }
    if metadata.len() > MAX_FILE_SIZE {
        return Err(BlocklistError::TooLarge);
    }
    Ok(File::open(path)?)
}

/// The first 64 bits of the SHA-1 digest, which public lists of leaked passwords use.
pub(super) fn of_password(password: &[u8]) -> u64 {
    let digest: [u8; 20] = Sha1::digest(password).into();
    digest.into_iter().take(8).fold(0, |number, byte| number << 8 | u64::from(byte))
}

/// Calls `act` with the digest of each line that is not empty. Lines end in LF or CR LF; what is not
/// UTF-8 is no password here and does no harm.
pub(super) fn for_each(file: &File, mut act: impl FnMut(u64)) -> Result<(), BlocklistError> {
    let mut reader = BufReader::with_capacity(BUFFER_SIZE, file.take(MAX_FILE_SIZE));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        if reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line)? == 0 {
            break;
        }
        if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
            return Err(BlocklistError::LongLine(number));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut text = text.strip_suffix(b"\r").unwrap_or(text);
        if number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.contains(&0) {
            return Err(BlocklistError::Nul(number));
        }
        let digits = str::from_utf8(text).ok().and_then(digits).unwrap_or_default();
        if digits.len() == NTLM_DIGITS && text.len() > NTLM_DIGITS {
            return Err(BlocklistError::Ntlm(number));
        }
        let listed = digits.get(..16).filter(|_| digits.len() == SHA1_DIGITS);
        if let Some(digest) = listed.and_then(|it| u64::from_str_radix(it, 16).ok()) {
            act(digest);
        } else if !text.is_empty() {
            act(of_password(text));
        }
    }
    Ok(())
}

/// The hex digits of a line that has nothing else, except for a count behind a colon.
fn digits(text: &str) -> Option<&str> {
    let (digits, count) = text.split_once(':').unwrap_or((text, "0"));
    let is_counted = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    (is_counted && digits.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(digits)
}
