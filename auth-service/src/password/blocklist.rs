//! Refuses the common passwords that the file of `PASSWORD_BLOCKLIST_FILE` lists. The file can be reloaded.
//!
//! Each line is a password, which is compared exactly, or the SHA-1 digest of one in 40 hex digits. A digest
//! may be followed by `:COUNT`, as in public lists of leaked passwords.

use parking_lot::{Mutex, RwLock};
use rolegate_grpc_tls::explain_read_error;
use rolegate_program::settings::SettingError;
use sha1::{Digest, Sha1};
use std::{
    array,
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
};

const SETTING: &str = "PASSWORD_BLOCKLIST_FILE";
const MAX_FILE_BYTES: u64 = 1 << 30;
/// The maximum length of a line with its line end, in bytes. It is far longer than any valid password.
const MAX_LINE_BYTES: u64 = 4 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;

/// The number of hex digits of a SHA-1 digest.
const SHA1_DIGITS: usize = 40;
/// The number of hex digits of an NTLM digest. Public lists of leaked passwords also exist with NTLM digests, so
/// a line with such a digest and a count is refused, instead of being taken for a password.
const NTLM_DIGITS: usize = 32;
/// The number of hex digits of each digest that the list keeps: the first 16, which are 64 bits.
const KEPT_DIGITS: usize = 16;

/// The digests of the passwords that a file lists.
struct Blocklist {
    /// The first 64 bits of the SHA-1 digest of each password, sorted, which take 8 bytes an entry. A password
    /// that is not listed is refused by mistake with a probability of 2⁻⁶⁴ for each entry.
    digests: Vec<u64>,
}

impl Blocklist {
    /// Reads the file twice. The first reading counts the entries, so that the list takes no more memory than
    /// they need. Returns an error if the file has no entry, or changes between the two readings.
    ///
    /// The text of an error continues a sentence that begins with the file's path, such as "is not a file". It
    /// never quotes a line.
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
            // If the file grew between the two readings, the list must not grow with it.
            if seen <= count {
                digests.push(digest);
            }
        })?;
        if seen != count {
            return Err("changed while it was being read".to_owned());
        }
        digests.sort_unstable();
        Ok(Self { digests })
    }

    fn contains(&self, password: &str) -> bool {
        let digest = digest_password(password.as_bytes());
        self.digests.binary_search(&digest).is_ok()
    }
}

/// The blocklist in use, and the file from which it can be reloaded.
pub(crate) struct BlocklistFile {
    path: PathBuf,
    current: RwLock<Blocklist>,
    /// Locked during a reload, because two reloads at the same time would need the memory of three lists.
    reload: Mutex<()>,
}

impl BlocklistFile {
    /// Reads the file. Blocks the thread, for seconds if the file has 10 million lines.
    pub(crate) fn load(path: &Path) -> Result<Self, SettingError> {
        Ok(Self {
            path: path.to_owned(),
            current: RwLock::new(read(path)?),
            reload: Mutex::default(),
        })
    }

    /// Reads the file again, and logs the result. If reading fails, the old list stays in use. Blocks the
    /// thread.
    pub(crate) fn reload(&self) {
        let _turn = self.reload.lock();
        match read(&self.path) {
            Ok(new) => {
                // The old list is bound here so that it is dropped only after the lock is released.
                let _old = std::mem::replace(&mut *self.current.write(), new);
                self.log();
            }
            Err(error) => {
                tracing::error!(%error, "cannot reload the blocklist of passwords; keeping the old one");
            }
        }
    }

    pub(crate) fn log(&self) {
        tracing::info!(
            passwords = self.count(),
            "loaded the blocklist of passwords"
        );
    }

    /// Returns the number of lines that have a password or a digest.
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
    // The kind of the file is checked before the file is opened, because opening a named pipe waits for its
    // writer.
    let metadata = fs::metadata(path).map_err(|error| explain_read_error(&error))?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err("is larger than 1 GiB".to_owned());
    }
    File::open(path).map_err(|error| explain_read_error(&error))
}

/// Calls `visit` with the digest of each line that is not empty. Returns an error at the first invalid line.
/// Reads at most 1 GiB.
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

/// Returns the first 64 bits of the digest on a line, or of the digest of the password on the line. Returns
/// `None` for an empty line.
///
/// A line ends in LF or CR LF. A line that is not UTF-8 counts as a password that no user can have. A line that
/// is too long, has a NUL byte or has an NTLM digest is an error. The text of the error continues a sentence that
/// begins with the number of the line.
fn digest_line(line: &[u8], is_first: bool) -> Result<Option<u64>, &'static str> {
    if line.len() as u64 == MAX_LINE_BYTES && !line.ends_with(b"\n") {
        return Err("is longer than 4 KiB; there must be one password on each line");
    }
    let without_lf = line.strip_suffix(b"\n").unwrap_or(line);
    let mut text = without_lf.strip_suffix(b"\r").unwrap_or(without_lf);
    if is_first {
        // Some editors on Windows begin a file with a byte order mark.
        text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    }
    if text.contains(&0) {
        return Err("has a NUL byte; it must be a text file in UTF-8, not compressed");
    }
    let digits = hex_digits(text).unwrap_or_default();
    if digits.len() == NTLM_DIGITS && text.len() > NTLM_DIGITS {
        return Err("is an NTLM digest; digests must be SHA-1, in 40 hex digits");
    }
    if digits.len() == SHA1_DIGITS {
        return Ok(u64::from_str_radix(&digits[..KEPT_DIGITS], 16).ok());
    }
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(digest_password(text)))
}

/// Computes the first 64 bits of the SHA-1 digest of a password. Public lists of leaked passwords use SHA-1.
fn digest_password(password: &[u8]) -> u64 {
    let digest: [u8; 20] = Sha1::digest(password).into();
    u64::from_be_bytes(array::from_fn(|index| digest[index]))
}

/// Returns the hex digits of a line that has only hex digits, with or without a colon and a decimal count at its
/// end. Returns `None` for any other line.
fn hex_digits(line: &[u8]) -> Option<&str> {
    let text = str::from_utf8(line).ok()?;
    let (digits, count) = text.split_once(':').unwrap_or((text, "0"));
    let is_counted = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    let is_hex = digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    (is_counted && is_hex).then_some(digits)
}

#[cfg(test)]
mod tests;
