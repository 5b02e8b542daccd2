//! A password that nobody has chosen, in a file that only this user may read.

use secrecy::SecretString;
use service_runtime::secret;
use std::{io, path::Path};

/// 24 characters out of 32: 120 bits.
const CHARACTERS: usize = 24;
/// Without the ones that are mistaken for each other in print.
const ALPHABET: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

/// Makes a password and puts it into the file (0600), or reads the one that an earlier start left
/// there when it was ended before it could create the admin. The second value tells which.
pub(super) fn make_or_read(path: &Path) -> io::Result<(SecretString, bool)> {
    secret::make_or_read(path, generate)
}

fn generate() -> io::Result<SecretString> {
    let mut random = [0_u8; CHARACTERS];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let password: String =
        random.iter().map(|byte| char::from(ALPHABET[usize::from(byte % 32)])).collect();
    Ok(SecretString::from(password))
}

#[cfg(test)]
mod tests {
    use super::make_or_read;
    use secrecy::ExposeSecret;
    use std::{fs, os::unix::fs::PermissionsExt};

    #[test]
    fn a_password_is_made_once_and_only_its_owner_may_read_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("password");
        let (made, is_new) = make_or_read(&path).expect("made");
        assert!(is_new);
        assert_eq!(made.expose_secret().len(), 24);
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        let (read, is_new) = make_or_read(&path).expect("read");
        assert!(!is_new);
        assert_eq!(read.expose_secret(), made.expose_secret());
    }
}
