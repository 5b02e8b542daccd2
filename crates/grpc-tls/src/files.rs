//! Certificates and keys in PEM files (RFC 7468). What is in a file is never shown.

use std::{
    fs, io,
    path::{Path, PathBuf},
};
use tokio_rustls::rustls::{
    self, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// A chain of certificates is a few; a larger file is a mistake (the wrong path, a device).
const LARGEST: u64 = 1024 * 1024;

/// A certificate and the key that goes with it.
#[derive(Clone, Debug)]
pub struct Identity {
    /// PEM: the certificate, followed by those that lead to its authority, if any.
    pub certificate: PathBuf,
    /// PEM: the private key (PKCS #8, PKCS #1 or SEC 1), not encrypted.
    pub key: PathBuf,
}

/// What a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// Certificates of the authorities that are trusted.
    Authorities,
    /// The certificate of an [`Identity`].
    Certificate,
    /// The key of an [`Identity`].
    Key,
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct FileError {
    /// Which one.
    pub file: File,
    problem: String,
}

impl FileError {
    fn new(file: File, path: &Path, problem: &str) -> Self {
        Self { file, problem: format!("{} {problem}", path.display()) }
    }

    /// Nobody can be verified with these authorities.
    pub(crate) fn no_verifier(authorities: &Path, error: &dyn std::error::Error) -> Self {
        Self::new(File::Authorities, authorities, &format!("cannot be used: {error}"))
    }
}

fn read(file: File, path: &Path) -> Result<Vec<u8>, FileError> {
    let read = fs::metadata(path).and_then(|metadata| {
        if !metadata.is_file() || metadata.len() > LARGEST {
            return Err(io::Error::other("is not a file of at most 1 MiB"));
        }
        fs::read(path)
    });
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::new(file, path, "does not exist"),
        io::ErrorKind::PermissionDenied => {
            FileError::new(file, path, "may not be read by this user")
        }
        _ => FileError::new(file, path, &format!("cannot be read: {error}")),
    })
}

fn certificates(file: File, path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let pem = read(file, path)?;
    match CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>() {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        // The library's own words may quote the file.
        _ => Err(FileError::new(file, path, "holds no certificate in PEM form")),
    }
}

/// The authorities of this file.
pub(crate) fn authorities(path: &Path) -> Result<RootCertStore, FileError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(File::Authorities, path)? {
        store.add(certificate).map_err(|_| {
            FileError::new(File::Authorities, path, "holds a certificate that makes no sense")
        })?;
    }
    Ok(store)
}

impl Identity {
    pub(crate) fn read(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), FileError> {
        let chain = certificates(File::Certificate, &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(File::Key, &self.key)?).map_err(|_| {
            FileError::new(File::Key, &self.key, "holds no private key in PEM form, not encrypted")
        })?;
        Ok((chain, key))
    }

    /// rustls would not have these two together.
    pub(crate) fn unusable(&self, error: &rustls::Error) -> FileError {
        if matches!(error, rustls::Error::InconsistentKeys(_)) {
            let problem = format!("is not the key of {}", self.certificate.display());
            return FileError::new(File::Key, &self.key, &problem);
        }
        if matches!(error, rustls::Error::InvalidCertificate(_)) {
            let problem = "holds a certificate that makes no sense";
            return FileError::new(File::Certificate, &self.certificate, problem);
        }
        let problem = "holds a key of a kind that TLS 1.3 here does not know; use ECDSA P-256";
        FileError::new(File::Key, &self.key, problem)
    }
}
