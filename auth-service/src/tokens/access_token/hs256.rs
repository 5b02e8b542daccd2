//! Computes HS256 for `jsonwebtoken` with the crate `hmac`. The providers of `jsonwebtoken` itself would also
//! bring RSA and elliptic curves into the program.

use hmac::{Hmac, KeyInit as _, Mac as _};
use jsonwebtoken::{
    Algorithm, AlgorithmFamily,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{ErrorKind, Result},
    signature::{Error, Signer, Verifier},
};
use sha2::Sha256;

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
    fn new(algorithm: Algorithm, family: AlgorithmFamily, key: &[u8]) -> Result<Self> {
        if (algorithm, family) != (Algorithm::HS256, AlgorithmFamily::Hmac) {
            return Err(ErrorKind::InvalidAlgorithm.into());
        }
        let mac = Hmac::new_from_slice(key).map_err(|_| ErrorKind::InvalidKeyFormat)?;
        Ok(Self { mac })
    }
}

impl Signer<Vec<u8>> for Hs256 {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        let mac = self.mac.clone().chain_update(message);
        Ok(mac.finalize().into_bytes().to_vec())
    }
}

impl Verifier<Vec<u8>> for Hs256 {
    /// Verifies a signature. The comparison takes constant time, so its duration reveals nothing about the
    /// right signature.
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
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
