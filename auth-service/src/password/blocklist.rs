//! Common passwords, which users may not choose: `PASSWORD_BLOCKLIST_FILE`, which can be read again.

use parking_lot::{Mutex, RwLock};
use rolegate_grpc_tls::explain;
use rolegate_program::settings::SettingError;
use sha1::{Digest, Sha1};
use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader, Read as _, Seek as _},
    path::{Path, PathBuf},
    sync::Arc,
};

const SETTING: &str = "PASSWORD_BLOCKLIST_FILE";
const MAX_FILE_SIZE: u64 = 1 << 30;
/// Bytes of a line with its end, far more than a password may have.
const MAX_LINE: u64 = 4 * 1024;
const BUFFER_SIZE: usize = 64 * 1024;

/// Hex digits of SHA-1, and of the NTLM digests that the same lists offer.
const SHA1_DIGITS: usize = 40;
const NTLM_DIGITS: usize = 32;

/// 64 bits of the SHA-1 digest of each password, sorted: 8 bytes an entry. A password that is not listed is
/// taken for one that is with a probability of 2⁻⁶⁴ for each entry.
struct Blocklist(Vec<u64>);

impl Blocklist {
    /// Reads the file twice, to count and to keep, so that nothing else takes memory. An error continues
    /// the path of the file, and never quotes a line.
    fn read(path: &Path) -> Result<Self, String> {
        let mut file = open(path)?;
        let mut count = 0;
        for_each(&file, |_| count += 1)?;
        if count == 0 {
            let problem = "has no passwords; remove the setting, or put one password on each line";
            return Err(problem.to_owned());
        }
        file.rewind().map_err(|error| explain(&error))?;
        let (mut digests, mut seen) = (Vec::with_capacity(count), 0);
        for_each(&file, |digest| {
            seen += 1;
            if seen <= count {
                digests.push(digest);
            }
        })?;
        if seen != count {
            return Err("has changed while it was read".to_owned());
        }
        digests.sort_unstable();
        Ok(Self(digests))
    }

    fn contains(&self, password: &str) -> bool {
        self.0
            .binary_search(&of_password(password.as_bytes()))
            .is_ok()
    }
}

/// The passwords in a file. Clones share them.
#[derive(Clone)]
pub(crate) struct BlocklistFile(Arc<Shared>);

struct Shared {
    path: PathBuf,
    current: RwLock<Blocklist>,
    /// Held during a reload: two at once would take the memory of three lists.
    reload: Mutex<()>,
}

impl BlocklistFile {
    /// Reads the file. Blocks: 10 million lines take seconds.
    pub(crate) fn load(path: &Path) -> Result<Self, SettingError> {
        let current = RwLock::new(read(path)?);
        let shared = Shared {
            path: path.to_owned(),
            current,
            reload: Mutex::default(),
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Reads the file again. On an error the old passwords stay. Blocks.
    pub(crate) fn reload(&self) {
        let _turn = self.0.reload.lock();
        match read(&self.0.path) {
            Ok(new) => {
                // The old list is dropped after the lock.
                let _old = std::mem::replace(&mut *self.0.current.write(), new);
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

    /// Lines with a password or a digest.
    pub(crate) fn count(&self) -> usize {
        self.0.current.read().0.len()
    }

    pub(crate) fn contains(&self, password: &str) -> bool {
        self.0.current.read().contains(password)
    }
}

fn read(path: &Path) -> Result<Blocklist, SettingError> {
    Blocklist::read(path)
        .map_err(|problem| SettingError::new(SETTING, format!("{} {problem}", path.display())))
}

fn open(path: &Path) -> Result<File, String> {
    // Asked first: opening a pipe waits for its writer.
    let metadata = fs::metadata(path).map_err(|error| explain(&error))?;
    if !metadata.is_file() {
        return Err("is not a file".to_owned());
    }
    if metadata.len() > MAX_FILE_SIZE {
        return Err("is larger than 1 GiB".to_owned());
    }
    File::open(path).map_err(|error| explain(&error))
}

/// The first 64 bits of the SHA-1 digest, which public lists of leaked passwords use.
fn of_password(password: &[u8]) -> u64 {
    let digest: [u8; 20] = Sha1::digest(password).into();
    digest
        .into_iter()
        .take(8)
        .fold(0, |number, byte| number << 8 | u64::from(byte))
}

/// Calls `act` with the digest of each line that is not empty. Lines end in LF or CR LF; what is not
/// UTF-8 is no password here and does no harm.
fn for_each(file: &File, mut act: impl FnMut(u64)) -> Result<(), String> {
    let mut reader = BufReader::with_capacity(BUFFER_SIZE, file.take(MAX_FILE_SIZE));
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        if read.map_err(|error| explain(&error))? == 0 {
            break;
        }
        if line.len() as u64 == MAX_LINE && !line.ends_with(b"\n") {
            let problem = "is longer than 4 KiB; there must be one password on each line";
            return Err(format!("line {number} {problem}"));
        }
        let text = line.strip_suffix(b"\n").unwrap_or(&line);
        let mut text = text.strip_suffix(b"\r").unwrap_or(text);
        if number == 1 {
            text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        }
        if text.contains(&0) {
            let problem = "has a NUL byte; it must be a text file in UTF-8, not compressed";
            return Err(format!("line {number} {problem}"));
        }
        let digits = str::from_utf8(text)
            .ok()
            .and_then(digits)
            .unwrap_or_default();
        if digits.len() == NTLM_DIGITS && text.len() > NTLM_DIGITS {
            let problem = "is an NTLM digest; digests must be of SHA-1, in 40 hex digits";
            return Err(format!("line {number} {problem}"));
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

#[cfg(test)]
mod tests;
