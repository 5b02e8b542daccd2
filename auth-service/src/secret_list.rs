//! Several secrets in one setting.

use rolegate_program::{
    secret::{self, SecretSource},
    settings::SettingError,
};
use secrecy::SecretString;

/// HS256 requires a key of at least the size of the hash output (RFC 7518, section 3.2).
pub(crate) const MIN_SECRET_BYTES: usize = 32;

/// Splits `text`, a list in this source, at commas and line ends, without trimming. A short secret is an
/// error, because a key left out would refuse valid tokens. An empty value is an empty list; an empty file
/// is an error, because it may be half written.
pub(crate) fn split(source: &SecretSource, text: &str) -> Result<Vec<SecretString>, SettingError> {
    if text.is_empty() && !source.is_file() {
        return Ok(Vec::new());
    }
    let secrets = text.split([',', '\n']).enumerate().map(|(index, secret)| {
        if secret.len() < MIN_SECRET_BYTES {
            let number = index + 1;
            let problem = format!(
                "secret {number} of the list has fewer than {MIN_SECRET_BYTES} bytes; secrets are \
                 separated by commas or newlines"
            );
            return Err(source.invalid(&problem));
        }
        secret::without_line_end(secret)
            .map_err(|error| source.invalid(&format!("secret {} of the list {error}", index + 1)))
    });
    secrets.collect()
}
