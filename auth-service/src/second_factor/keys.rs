//! Keeps the secrets of second factors from whoever has a copy of the database only.

use crate::secret_list::{self, MIN_SECRET_BYTES};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use rolegate_program::{secret::SecretSource, settings::SettingError};
use secrecy::{ExposeSecret as _, SecretString};
use sha2::{Digest as _, Sha256};
use std::io;
use zeroize::Zeroizing;

/// Of the digest of a secret, in base64url.
const ID_BYTES: usize = 9;

/// `SECOND_FACTOR_KEY` and the accepted ones, the newest first: AES-256-GCM, each with the id that sealed
/// secrets begin with.
pub(crate) struct FactorKeys(Vec<(String, LessSafeKey)>);

impl FactorKeys {
    pub(crate) fn read(
        newest: &SecretSource,
        accepted: Option<&SecretSource>,
    ) -> Result<Self, SettingError> {
        let secret = newest.read()?;
        if secret.expose_secret().len() < MIN_SECRET_BYTES {
            return Err(newest.invalid(&format!("must have at least {MIN_SECRET_BYTES} bytes")));
        }
        let mut secrets = vec![secret];
        if let Some(source) = accepted {
            secrets.extend(secret_list::split(source, source.read()?.expose_secret())?);
        }
        let unusable = |_| newest.invalid("cannot be used");
        Self::new(&secrets).map_err(unusable)
    }

    pub(crate) fn new(secrets: &[SecretString]) -> Result<Self, ring::error::Unspecified> {
        let keys = secrets.iter().map(|secret| {
            let digest = |label: &str| {
                let digest = Sha256::new().chain_update(label);
                Zeroizing::new(<[u8; 32]>::from(
                    digest.chain_update(secret.expose_secret()).finalize(),
                ))
            };
            let id = digest("rolegate second factor id\0");
            let key = UnboundKey::new(&AES_256_GCM, &*digest("rolegate second factor\0"))?;
            Ok((
                URL_SAFE_NO_PAD.encode(&id[..ID_BYTES]),
                LessSafeKey::new(key),
            ))
        });
        keys.collect::<Result<_, _>>().map(Self)
    }

    /// Whether secrets that were sealed with the key of this id can be opened.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.0.iter().any(|(own, _)| own == id)
    }

    /// Whether it is the key that seals.
    pub(crate) fn is_newest(&self, id: &str) -> bool {
        self.0.first().is_some_and(|(own, _)| own == id)
    }

    /// Seals the secret of a user with the newest key: its id, and the nonce and the sealed secret in base64url.
    pub(crate) fn seal(&self, user_id: i64, secret: &[u8]) -> io::Result<String> {
        let failed = || io::Error::other("cannot seal the secret of a second factor");
        let (id, key) = self.0.first().ok_or_else(failed)?;
        let mut nonce = [0; NONCE_LEN];
        getrandom::fill(&mut nonce).map_err(io::Error::other)?;
        let (mut sealed, bound) = (secret.to_vec(), Aad::from(user_id.to_be_bytes()));
        let nonced = Nonce::assume_unique_for_key(nonce);
        key.seal_in_place_append_tag(nonced, bound, &mut sealed)
            .map_err(|_| failed())?;
        let sealed = URL_SAFE_NO_PAD.encode([&nonce[..], &sealed].concat());
        Ok(format!("{id}.{sealed}"))
    }

    /// Opens what was sealed for this user; `None` without its key, or if it was changed.
    pub(crate) fn open(&self, user_id: i64, sealed: &str) -> Option<Zeroizing<Vec<u8>>> {
        let (id, sealed) = sealed.split_once('.')?;
        let (_, key) = self.0.iter().find(|(own, _)| own == id)?;
        let mut sealed = Zeroizing::new(URL_SAFE_NO_PAD.decode(sealed).ok()?);
        let nonce = Nonce::try_assume_unique_for_key(sealed.get(..NONCE_LEN)?).ok()?;
        let bound = Aad::from(user_id.to_be_bytes());
        let secret = key
            .open_within(nonce, bound, &mut sealed, NONCE_LEN..)
            .ok()?;
        Some(Zeroizing::new(secret.to_vec()))
    }
}

#[cfg(test)]
mod tests {
    use super::FactorKeys;
    use secrecy::SecretString;

    fn keys(names: &[char]) -> FactorKeys {
        let secret = |name: &char| SecretString::from(name.to_string().repeat(32));
        FactorKeys::new(&names.iter().map(secret).collect::<Vec<_>>()).expect("keys")
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
