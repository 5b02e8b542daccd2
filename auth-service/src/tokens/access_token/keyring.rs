//! Holds the keys that sign and verify access tokens, and reads them from the settings. Computes HS256 for
//! `jsonwebtoken` with the crate `hmac`, because the providers of `jsonwebtoken` itself would also bring RSA and
//! elliptic curves into the program.

use crate::secret_list::{self, MIN_SECRET_BYTES};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily, DecodingKey, EncodingKey, Header,
    crypto::{self, CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result as JwtResult},
    signature::{Error, Signer, Verifier},
};
use rolegate_program::{secret::SecretSource, settings::SettingError};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use sha2::Sha256;
use std::fmt;

/// The signing key and all accepted keys.
pub struct Keyring {
    /// The keys, never empty. The first one signs, and all are accepted.
    keys: Vec<Key>,
}

/// The error for a secret of fewer than 32 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must have at least 32 bytes, such as the output of `openssl rand -base64 48`")]
pub struct SecretTooShort;

/// A key of access tokens, derived from a configured secret.
pub(crate) struct Key {
    id: String,
    /// The header of the tokens that this key signs, except for tokens with `marked_until`.
    header: Header,
    /// The same header as encoded in a token. Tokens of this key are recognized by it.
    encoded_header: String,
    encoding: EncodingKey,
    decoding: DecodingKey,
}

impl Keyring {
    /// Creates a ring that signs with `signing` and accepts tokens of all given secrets. A repeated secret
    /// becomes one key.
    pub fn new(signing: &SecretString, accepted: &[SecretString]) -> Result<Self, SecretTooShort> {
        let mut keys: Vec<Key> = Vec::new();
        for secret in std::iter::once(signing).chain(accepted) {
            let key = Key::new(secret.expose_secret().as_bytes())?;
            if keys.iter().all(|known| known.id != key.id) {
                keys.push(key);
            }
        }
        Ok(Self { keys })
    }

    pub(crate) fn signing_kid(&self) -> &str {
        &self.signing().id
    }

    /// Returns the `kid` of every accepted key, beginning with the signing key.
    pub(crate) fn kids(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|key| key.id.as_str())
    }

    /// Returns the key whose tokens have exactly this encoded header.
    pub(super) fn find_by_header(&self, header: &str) -> Option<&Key> {
        self.keys.iter().find(|key| key.encoded_header == header)
    }

    pub(super) fn signing(&self) -> &Key {
        &self.keys[0]
    }

    /// Returns the keys to try for a token: the one with this `kid`, or all keys for a token without a `kid`.
    pub(super) fn candidates(&self, kid: Option<&str>) -> impl Iterator<Item = &Key> {
        self.keys
            .iter()
            .filter(move |key| kid.is_none_or(|kid| kid == key.id))
    }
}

impl Key {
    fn new(bytes: &[u8]) -> Result<Self, SecretTooShort> {
        if bytes.len() < MIN_SECRET_BYTES {
            return Err(SecretTooShort);
        }
        // The provider is installed once in a process. Any later call changes nothing.
        let _ = PROVIDER.install_default();
        let id = secret_list::id("rolegate kid\0", bytes);
        let header = Header {
            kid: Some(id.clone()),
            ..Header::new(Algorithm::HS256)
        };
        let json = serde_json::to_vec(&header).expect("text and absent members");
        Ok(Self {
            id,
            header,
            encoded_header: URL_SAFE_NO_PAD.encode(json),
            encoding: EncodingKey::from_secret(bytes),
            decoding: DecodingKey::from_secret(bytes),
        })
    }

    /// Signs a token with these claims, and with the header member `marked_until` if one is given.
    pub(super) fn encode(
        &self,
        claims: &impl Serialize,
        marked_until: Option<u64>,
    ) -> JwtResult<String> {
        let mut header = self.header.clone();
        if let Some(until) = marked_until {
            header.extras.insert("marked_until", until);
        }
        jsonwebtoken::encode(&header, claims, &self.encoding)
    }

    /// Returns whether `signature`, in base64url, is the signature of the message by this key.
    pub(super) fn verify(&self, message: &str, signature: &str) -> bool {
        crypto::verify(
            signature,
            message.as_bytes(),
            &self.decoding,
            Algorithm::HS256,
        )
        .unwrap_or(false)
    }
}

/// The sources of the keys: the settings `SIGNING_SECRET` and `SIGNING_SECRETS_ACCEPTED`, as values or files.
#[derive(Clone, Debug)]
pub struct KeySource {
    /// The source of the secret that signs.
    pub(crate) signing: SecretSource,
    /// The source of the further accepted secrets, which are separated by commas or newlines.
    pub(crate) accepted: Option<SecretSource>,
}

impl KeySource {
    /// Returns whether a reload can change the keys. A file can change while the program runs; an environment
    /// variable cannot.
    pub(crate) fn is_reloadable(&self) -> bool {
        self.signing.is_file() || self.accepted.as_ref().is_some_and(SecretSource::is_file)
    }

    /// Returns the names of the settings and their files, for log lines about a reload.
    pub(crate) fn describe(&self) -> String {
        match &self.accepted {
            Some(accepted) => format!("{} {}", self.signing.describe(), accepted.describe()),
            None => self.signing.describe(),
        }
    }

    /// Reads all keys. Fails if any secret is invalid, because a ring without its key would refuse valid
    /// tokens.
    pub(crate) fn read(&self) -> Result<Keyring, SettingError> {
        let signing = self.signing.read()?;
        let accepted = match &self.accepted {
            Some(source) => secret_list::split(source, source.read()?.expose_secret())?,
            None => Vec::new(),
        };
        Keyring::new(&signing, &accepted).map_err(|error| self.signing.invalid(error))
    }
}

/// Tests HS256 with the example of RFC 7515, appendix A.1. If the test returns `false`, no token may be signed.
pub(crate) fn self_test() -> bool {
    const KEY: &str =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    const MESSAGE: &str = "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.\
        eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
    let Ok(secret) = URL_SAFE_NO_PAD.decode(KEY) else {
        return false;
    };
    let Ok(key) = Key::new(&secret) else {
        return false;
    };
    let signature = crypto::sign(MESSAGE.as_bytes(), &key.encoding, Algorithm::HS256);
    signature.is_ok_and(|signature| signature == SIGNATURE) && key.verify(MESSAGE, SIGNATURE)
}

impl fmt::Debug for Keyring {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Keyring")?;
        formatter.debug_list().entries(self.kids()).finish()
    }
}

/// The provider for `jsonwebtoken`. It signs and verifies HS256, and no other algorithm.
pub static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| {
        Ok(Box::new(Hs256::new(
            *algorithm,
            key.family(),
            key.as_bytes(),
        )?))
    },
    verifier_factory: |algorithm, key| {
        Ok(Box::new(Hs256::new(
            *algorithm,
            key.family(),
            key.try_get_as_bytes()?,
        )?))
    },
    key_utils: KeyUtils::new_unimplemented(),
};

/// An HMAC-SHA-256 with its key and without input, which each operation clones.
struct Hs256 {
    mac: Hmac<Sha256>,
}

impl Hs256 {
    fn new(algorithm: Algorithm, family: AlgorithmFamily, key: &[u8]) -> JwtResult<Self> {
        if (algorithm, family) != (Algorithm::HS256, AlgorithmFamily::Hmac) {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        let mac = Hmac::new_from_slice(key).map_err(|_| ErrorKind::InvalidKeyFormat)?;
        Ok(Self { mac })
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mac = self.mac.clone().chain_update(message);
        Ok(mac.finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    /// Verifies a signature. The comparison takes constant time, so its duration reveals nothing about the
    /// right signature.
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), Error> {
        let mac = self.mac.clone().chain_update(message);
        mac.verify_slice(signature).map_err(|_| Error::new())
    }
}

impl JwtSigner for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

impl JwtVerifier for Hs256 {
    fn algorithm(&self) -> Algorithm {
        Algorithm::HS256
    }
}

#[cfg(test)]
mod tests;
