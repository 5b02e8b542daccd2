//! The passwords that users may not choose: `PASSWORD_BLOCKLIST_FILE`, which can be read again.
//!
//! Each line is a password, compared exactly, or the SHA-1 digest of one in 40 hex digits, perhaps with `:COUNT` behind
//! it, as public lists of leaked passwords have them.

use parking_lot::{Mutex, RwLock};
use rolegate_grpc_tls::explain_read_error;
use rolegate_program::settings::SettingError;
use sha1::{Digest, Sha1};
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
};

const SETTING: &str = "PASSWORD_BLOCKLIST_FILE";
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The largest size of a line with its end; a password may have far less.
const MAX_LINE_BYTES: u64 = 4 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;

/// Hex digits of SHA-1. The same lists also offer NTLM digests; a line with such a digest and a count is recognized.
const SHA1_DIGITS: usize = 40;
const NTLM_DIGITS: usize = 32;
/// Hex digits of the part of a digest that is kept.
const KEPT_DIGITS: usize = 16;

/// The digests of the passwords in a file.
struct Blocklist {
    /// 64 bits of the SHA-1 digest of each password, sorted: 8 bytes an entry. Another password is refused by
    /// mistake with a probability of 2⁻⁶⁴ for each entry.
    digests: Vec<u64>,
}

impl Blocklist {
    /// Reads the file twice, first to count the entries, so that the list takes no more memory than they need. The text of
    /// an error follows the path of the file, such as "is not a file", and never quotes a line.
    fn read(path: &Path) -> Result<Self, String> {
        let mut file = open(path)?;
        let mut count = 0;
        for_each_digest(&file, |_| count += 1)?;
        if count == 0 {
            let problem = "has no passwords; remove the setting, or put one password on each line";
            return Err(problem.to_owned());
        }
        file.rewind().map_err(|error| explain_read_error(&error))?;
        let mut digests = Vec::with_capacity(count);
        let mut seen = 0;
        for_each_digest(&file, |digest| {
            seen += 1;
            // A file that grew must not make the list grow.
            if seen <= count {
                digests.push(digest);
            }
        })?;
        if seen != count {
            return Err("has changed while it was read".to_owned());
        }
        digests.sort_unstable();
        Ok(Self { digests })
    }

    fn contains(&self, password: &str) -> bool {
        let digest = digest_password(password.as_bytes());
        self.digests.binary_search(&digest).is_ok()
    }
}

/// The passwords in a file, which can be read again.
pub(crate) struct BlocklistFile {
    path: PathBuf,
    current: RwLock<Blocklist>,
    /// Held during a reload: two at once would take the memory of three lists.
    reload: Mutex<()>,
}

impl BlocklistFile {
    /// Reads the file. Blocks: 10 million lines take seconds.
    pub(crate) fn load(path: &Path) -> Result<Self, SettingError> {
        Ok(Self {
            path: path.to_owned(),
            current: RwLock::new(read(path)?),
            reload: Mutex::default(),
        })
    }

    /// Reads the file again. On an error the old passwords stay. Blocks.
    pub(crate) fn reload(&self) {
        let _turn = self.reload.lock();
        match read(&self.path) {
            Ok(new) => {
                // The old list is dropped after the lock.
                let _old = std::mem::replace(&mut *self.current.write(), new);
                self.log();
            }
            Err(error) => {
                tracing::error!(%error, "cannot reload the refused passwords; keeping the old ones");
            }
        }
    }

    pub(crate) fn log(&self) {
        tracing::info!(passwords = self.count(), "loaded the refused passwords");
    }

    /// The number of lines with a password or a digest.
    pub(crate) fn count(&self) -> usize {
        self.current.read().digests.len()
    }

    pub(crate) fn contains(&self, password: &str) -> bool {
        self.current.read().contains(password)
    }
}

fn read(path: &Path) -> Result<Blocklist, SettingError> {
    Blocklist::read(path)
        .map_err(|problem| SettingError::new(SETTING, format!("{} {problem}", path.display())))
}

fn open(path: &Path) -> Result<File, String> {
    // The kind is checked before the file is opened, because opening a pipe waits for its writer.
    let metadata = fs::metadata(path).map_err(|error| explain_read_error(&error))?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err("is larger than 1 GiB".to_owned());
    }
    File::open(path).map_err(|error| explain_read_error(&error))
}

/// Calls `visit` with the digest of each line that is not empty.
fn for_each_digest(file: &File, mut visit: impl FnMut(u64)) -> Result<(), String> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file.take(MAX_FILE_BYTES));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let bytes = reader
            .by_ref()
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut line)
            .map_err(|error| explain_read_error(&error))?;
        if bytes == 0 {
            break;
        }
        let is_first = number == 1;
        let digest =
            digest_line(&line, is_first).map_err(|problem| format!("line {number} {problem}"))?;
        if let Some(digest) = digest {
            visit(digest);
        }
    }
    Ok(())
}

/// Reads the digest of a line, or computes that of the password on it; `None` for an empty line. Lines end in LF or
/// CR LF. A line that is not UTF-8 counts as a password that nobody can have. The text of an error follows the number of
/// the line.
fn digest_line(line: &[u8], is_first: bool) -> Result<Option<u64>, &'static str> {
    if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
        return Err("is longer than 4 KiB; there must be one password on each line");
    }
    let without_lf = line.strip_suffix(b"\n").unwrap_or(line);
    let mut text = without_lf.strip_suffix(b"\r").unwrap_or(without_lf);
    if is_first {
        // Editors on Windows begin a file with a byte order mark.
        text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    }
    if text.contains(&0) {
        return Err("has a NUL byte; it must be a text file in UTF-8, not compressed");
    }
    let digits = hex_digits(text).unwrap_or_default();
    if digits.len() == NTLM_DIGITS && text.len() > NTLM_DIGITS {
        return Err("is an NTLM digest; digests must be of SHA-1, in 40 hex digits");
    }
    if digits.len() == SHA1_DIGITS {
        return Ok(u64::from_str_radix(&digits[..KEPT_DIGITS], 16).ok());
    }
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(digest_password(text)))
}

/// Computes the first 64 bits of the SHA-1 digest, which public lists of leaked passwords use.
fn digest_password(password: &[u8]) -> u64 {
    let digest: [u8; 20] = Sha1::digest(password).into();
    digest
        .into_iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(byte))
}

/// Returns the hex digits of a line that has nothing else, except for a count behind a colon.
fn hex_digits(line: &[u8]) -> Option<&str> {
    let text = str::from_utf8(line).ok()?;
    let (digits, count) = text.split_once(':').unwrap_or((text, "0"));
    let is_counted = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_counted && is_hex).then_some(digits)
}

#[cfg(test)]
mod tests;
