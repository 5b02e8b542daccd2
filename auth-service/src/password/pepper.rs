//! Computes the input of bcrypt from a password, with a pepper if one is configured.
//!
//! A pepper is a secret that is not in the database, so a stolen database alone does not allow guessing. Before
//! bcrypt, the password is replaced by its HMAC-SHA-256 with the pepper as the key, in base64 (44 bytes). Such
//! a hash is stored as `hmac-sha256:ID:$2b$…`, where the id names the pepper.
//!
//! Without a pepper, the stored hash is plain bcrypt. If the setting begins with `none`, new hashes are plain
//! bcrypt too, and the peppers after it are only accepted.
//!
//! WordPress since 6.8 writes hashes as `$wp$2y$…`. They are bcrypt of base64(HMAC-SHA-384) of the trimmed
//! password. The key of this HMAC is a fixed text and no secret.

use super::validation::Password;
use crate::secret_list;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use rolegate_program::{secret::SecretSource, settings::SettingError};
use secrecy::{ExposeSecret, SecretString};
use sha2::{Sha256, Sha384};
use zeroize::Zeroizing;

/// The prefix of the pepper's id in a stored hash. No bcrypt hash begins with it.
const SCHEME: &str = "hmac-sha256:";
/// The first entry of the setting if new hashes get no pepper.
const NO_PEPPER: &str = "none";

/// The prefix that WordPress writes before the bcrypt hash.
const WORDPRESS: &str = "$wp";
/// The characters that PHP's `trim` removes.
const SPACE: [char; 6] = [' ', '\t', '\n', '\r', '\0', '\x0b'];

/// The configured peppers, newest first. The list is empty without the setting.
#[derive(Default)]
pub(crate) struct Peppers {
    all: Vec<Pepper>,
    /// True if new hashes get no pepper. All replicas can then accept a pepper before the first replica uses
    /// it, and still accept it after the last replica has stopped using it.
    only_accepts: bool,
}

/// A pepper as the key of the HMAC, and the id that names it in stored hashes.
struct Pepper {
    id: String,
    mac: Hmac<Sha256>,
}

/// The input of bcrypt for hashing a new password.
pub(super) struct NewHashInput {
    /// The prefix of the stored hash, which comes before the bcrypt hash.
    pub(super) scheme: String,
    pub(super) text: Zeroizing<String>,
}

/// The input of bcrypt for verifying a password against a stored hash.
pub(super) struct StoredHashInput<'h> {
    /// The bcrypt hash within the stored hash.
    pub(super) hash: &'h str,
    pub(super) text: Zeroizing<String>,
    /// True if a new hash would use another pepper, or none.
    pub(super) is_outdated: bool,
    /// True if the hash was computed from exactly the bytes of the password. If not, a new hash of these bytes
    /// would refuse other spellings of the password that this hash accepts.
    pub(super) is_exact: bool,
}

impl Peppers {
    /// Creates peppers from these secrets, newest first. New hashes get the first one.
    pub(crate) fn new(secrets: &[SecretString]) -> Self {
        let pepper = |secret: &SecretString| Pepper::new(secret.expose_secret().as_bytes());
        Self {
            all: secrets.iter().map(pepper).collect(),
            only_accepts: false,
        }
    }

    /// Creates peppers that are accepted in stored hashes. New hashes are plain bcrypt.
    pub(crate) fn only_accepting(secrets: &[SecretString]) -> Self {
        Self {
            only_accepts: true,
            ..Self::new(secrets)
        }
    }

    pub(crate) fn read(source: &SecretSource) -> Result<Self, SettingError> {
        let secret = source.read()?;
        let text = secret.expose_secret();
        if text == NO_PEPPER {
            let problem = "has no accepted secret; set it to none,SECRET, or remove it";
            return Err(source.invalid(problem));
        }
        let peppers = match text.split_once([',', '\n']) {
            Some((NO_PEPPER, accepted)) => {
                Self::only_accepting(&secret_list::split(source, accepted)?)
            }
            _ => Self::new(&secret_list::split(source, text)?),
        };
        // An empty list is an error, because new hashes would otherwise silently get no pepper.
        if peppers.count() == 0 {
            return Err(source.invalid("is empty; remove it, or set a secret of at least 32 bytes"));
        }
        Ok(peppers)
    }

    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the pepper of new hashes; `None` if they get none.
    fn current(&self) -> Option<&Pepper> {
        if self.only_accepts {
            return None;
        }
        self.all.first()
    }

    fn find(&self, id: &str) -> Option<&Pepper> {
        self.all.iter().find(|pepper| pepper.id == id)
    }

    pub(super) fn prepare_new(&self, password: &Password) -> NewHashInput {
        match self.current() {
            Some(pepper) => NewHashInput {
                scheme: format!("{SCHEME}{}:", pepper.id),
                text: pepper.apply(password),
            },
            None => NewHashInput {
                scheme: String::new(),
                text: Zeroizing::new(password.expose().to_owned()),
            },
        }
    }

    /// Returns the bcrypt hash within a stored hash. Returns a hash without a prefix unchanged, such as a hash of
    /// argon2. Returns `None` if the hash has a pepper that is not configured.
    pub(super) fn bcrypt_part<'h>(&self, stored: &'h str) -> Option<&'h str> {
        let Some(rest) = stored.strip_prefix(SCHEME) else {
            return Some(stored.strip_prefix(WORDPRESS).unwrap_or(stored));
        };
        let (id, hash) = rest.split_once(':')?;
        self.find(id)?;
        Some(hash)
    }

    /// Prepares the check of a password against a stored hash. Returns `None` if the hash has a pepper that is
    /// not configured.
    pub(super) fn prepare_stored<'h>(
        &self,
        stored: &'h str,
        password: &Password,
    ) -> Option<StoredHashInput<'h>> {
        if let Some(hash) = stored.strip_prefix(WORDPRESS) {
            return Some(prepare_wordpress(hash, password));
        }
        let current = self.current().map(|pepper| pepper.id.as_str());
        let peppered = stored
            .strip_prefix(SCHEME)
            .and_then(|rest| rest.split_once(':'));
        let Some((id, hash)) = peppered else {
            return Some(StoredHashInput {
                hash: stored,
                text: Zeroizing::new(password.expose().to_owned()),
                is_outdated: current.is_some(),
                is_exact: true,
            });
        };
        let pepper = self.find(id)?;
        Some(StoredHashInput {
            hash,
            text: pepper.apply(password),
            is_outdated: current != Some(id),
            is_exact: true,
        })
    }
}

fn prepare_wordpress<'h>(hash: &'h str, password: &Password) -> StoredHashInput<'h> {
    let trimmed = password.expose().trim_matches(SPACE);
    let mac = Hmac::<Sha384>::new_from_slice(b"wp-sha384").expect("takes any key");
    StoredHashInput {
        hash,
        text: encode_mac(mac.chain_update(trimmed)),
        is_outdated: true,
        is_exact: trimmed.len() == password.expose().len(),
    }
}

impl Pepper {
    fn new(secret: &[u8]) -> Self {
        Self {
            id: secret_list::id("rolegate pepper\0", secret),
            mac: Hmac::new_from_slice(secret).expect("HMAC takes a key of any length"),
        }
    }

    fn apply(&self, password: &Password) -> Zeroizing<String> {
        encode_mac(self.mac.clone().chain_update(password.expose()))
    }
}

fn encode_mac(mac: impl Mac) -> Zeroizing<String> {
    Zeroizing::new(STANDARD.encode(mac.finalize().into_bytes()))
}
