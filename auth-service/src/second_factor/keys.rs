//! Encrypts the secrets of second factors, so that a stolen database does not reveal them.

use crate::{
    secret_generation::random_bytes,
    secret_list::{self, MIN_SECRET_BYTES},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rolegate_program::{secret::SecretSource, settings::SettingError};
use secrecy::{ExposeSecret as _, SecretString};
use std::io;
use zeroize::Zeroizing;

/// The keys of the settings `SECOND_FACTOR_KEY` and `SECOND_FACTOR_KEYS_ACCEPTED`.
pub(crate) struct SecondFactorKeys {
    /// All keys, newest first. The newest key encrypts, and all keys decrypt.
    keys: Vec<EncryptionKey>,
}

/// A key for AES-256-GCM, derived from a configured secret.
struct EncryptionKey {
    /// The id, which is the prefix of everything that this key has encrypted.
    id: String,
    key: LessSafeKey,
}

impl EncryptionKey {
    /// Derives the key. On failure, the error is the rule that the secret breaks.
    fn derive(secret: &SecretString) -> Result<Self, &'static str> {
        let secret = secret.expose_secret().as_bytes();
        if secret.len() < MIN_SECRET_BYTES {
            return Err("must have at least 32 bytes");
        }
        let key = secret_list::digest("rolegate second factor\0", secret);
        let key = UnboundKey::new(&AES_256_GCM, &*key).map_err(|_| "cannot be used")?;
        Ok(Self {
            id: secret_list::id("rolegate second factor id\0", secret),
            key: LessSafeKey::new(key),
        })
    }
}

impl SecondFactorKeys {
    pub(crate) fn read(
        newest: &SecretSource,
        accepted: Option<&SecretSource>,
    ) -> Result<Self, SettingError> {
        let mut secrets = vec![newest.read()?];
        if let Some(source) = accepted {
            secrets.extend(secret_list::split(source, source.read()?.expose_secret())?);
        }
        Self::new(&secrets).map_err(|problem| newest.invalid(problem))
    }

    /// Derives the keys of these secrets, newest first. On failure, the error is the rule that a secret breaks.
    pub(crate) fn new(secrets: &[SecretString]) -> Result<Self, &'static str> {
        let keys: Result<_, _> = secrets.iter().map(EncryptionKey::derive).collect();
        Ok(Self { keys: keys? })
    }

    /// Returns whether a key with this id is configured, so that the secrets that this key encrypted can be
    /// decrypted.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    fn find(&self, id: &str) -> Option<&EncryptionKey> {
        self.keys.iter().find(|key| key.id == id)
    }

    /// Returns whether the newest key, which encrypts, has this id.
    pub(crate) fn is_newest(&self, id: &str) -> bool {
        self.keys.first().is_some_and(|key| key.id == id)
    }

    /// Encrypts the secret of a user with the newest key.
    ///
    /// Returns the id of the key, a period, and the nonce with the encrypted secret in base64url. The id of the
    /// user is authenticated too, so that the secret cannot be used in the row of another user.
    pub(crate) fn seal(&self, user_id: i64, secret: &[u8]) -> io::Result<String> {
        let failed = || io::Error::other("cannot seal the secret of a second factor");
        let newest = self.keys.first().ok_or_else(failed)?;
        let nonce: [u8; NONCE_LEN] = random_bytes()?;
        let mut sealed = secret.to_vec();
        newest
            .key
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(user_id.to_be_bytes()),
                &mut sealed,
            )
            .map_err(|_| failed())?;
        let encoded = URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat());
        Ok(format!("{}.{encoded}", newest.id))
    }

    /// Decrypts a secret that was encrypted for this user. Returns `None` if its key is not configured, or if the
    /// text is malformed, was changed, or was encrypted for another user.
    pub(crate) fn open(&self, user_id: i64, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let (id, encoded) = sealed.split_once('.')?;
        let key = &self.find(id)?.key;
        let mut bytes = Zeroizing::new(URL_SAFE_NO_PAD.decode(encoded).ok()?);
        let nonce = Nonce::try_assume_unique_for_key(bytes.get(..NONCE_LEN)?).ok()?;
        let bound = Aad::from(user_id.to_be_bytes());
        let secret = key
            .open_within(nonce, bound, &mut bytes, NONCE_LEN..)
            .ok()?;
        Some(Zeroizing::new(secret.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::SecondFactorKeys;
    use secrecy::SecretString;

    fn keys(names: &[char]) -> SecondFactorKeys {
        let secret = |name: &char| SecretString::from(name.to_string().repeat(32));
        SecondFactorKeys::new(&names.iter().map(secret).collect::<Vec<_>>()).expect("keys")
    }

    #[test]
    fn only_the_key_and_the_user_open_a_secret() {
        let sealed = keys(&['a']).seal(7, b"a secret").expect("sealed");
        assert_eq!(
            keys(&['a']).open(7, &sealed).as_deref(),
            Some(&b"a secret".to_vec())
        );
        assert_eq!(
            keys(&['b', 'a']).open(7, &sealed).as_deref(),
            Some(&b"a secret".to_vec())
        );
        assert!(keys(&['a']).open(8, &sealed).is_none(), "another user");
        assert!(keys(&['b']).open(7, &sealed).is_none(), "another key");
        let (id, _) = sealed.split_once('.').expect("an id");
        assert!(keys(&['b', 'a']).has(id) && !keys(&['b']).has(id));
        assert!(keys(&['a', 'b']).is_newest(id) && !keys(&['b', 'a']).is_newest(id));
    }

    #[test]
    fn no_two_are_alike_and_none_opens_when_it_was_changed() {
        let keys = keys(&['a']);
        let sealed = keys.seal(7, b"a secret").expect("sealed");
        assert_ne!(sealed, keys.seal(7, b"a secret").expect("sealed"));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            assert!(keys.open(7, &changed).is_none(), "{changed} for {sealed}");
            assert!(keys.open(7, &sealed[..at]).is_none(), "cut at {at}");
        }
    }
}
