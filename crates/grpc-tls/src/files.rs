//! Certificates and keys in PEM files (RFC 7468). Errors never show file contents.

use std::{
    error::Error,
    fs, io,
    path::{Path, PathBuf},
};
use tokio_rustls::rustls::{
    self, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// In bytes. A larger file is not a certificate chain but a mistake, such as a wrong path or a device.
const MAX_FILE_SIZE: u64 = 1024 * 1024;

/// A certificate and its private key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// PEM file: the certificate, followed by intermediate certificates if there are any.
    pub certificate: PathBuf,
    /// PEM file: the private key (PKCS #8, PKCS #1 or SEC 1), not encrypted.
    pub key: PathBuf,
}

/// The purpose of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum File {
    /// Certificates of trusted CAs.
    CaBundle,
    /// The certificate of an [`Identity`].
    Certificate,
    /// The key of an [`Identity`].
    Key,
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct FileError {
    /// The purpose of that file.
    pub file: File,
    problem: String,
}

impl FileError {
    fn new(file: File, path: &Path, problem: &str) -> Self {
        Self { file, problem: format!("{} {problem}", path.display()) }
    }

    pub(crate) fn unusable_ca_bundle(path: &Path, error: &dyn Error) -> Self {
        Self::new(File::CaBundle, path, &format!("cannot be used: {error}"))
    }
}

fn read(file: File, path: &Path) -> Result<Vec<u8>, FileError> {
    let read = fs::metadata(path).and_then(|metadata| {
        if !metadata.is_file() || metadata.len() > MAX_FILE_SIZE {
            return Err(io::Error::other("it is not a file of at most 1 MiB"));
        }
        fs::read(path)
    });
    read.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => FileError::new(file, path, "does not exist"),
        io::ErrorKind::PermissionDenied => {
            FileError::new(file, path, "is not readable by this user")
        }
        _ => FileError::new(file, path, &format!("cannot be read: {error}")),
    })
}

fn read_certificates(file: File, path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let pem = read(file, path)?;
    match CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>() {
        Ok(certificates) if !certificates.is_empty() => Ok(certificates),
        // The error of the library may quote the file.
        _ => Err(FileError::new(file, path, "contains no PEM certificate")),
    }
}

pub(crate) fn read_ca_bundle(path: &Path) -> Result<RootCertStore, FileError> {
    let mut store = RootCertStore::empty();
    for certificate in read_certificates(File::CaBundle, path)? {
        store
            .add(certificate)
            .map_err(|_| FileError::new(File::CaBundle, path, "contains an invalid certificate"))?;
    }
    Ok(store)
}

/// Such as `AUTH_TLS_CERT_FILE=/etc/cert.pem AUTH_TLS_KEY_FILE=/etc/key.pem`.
pub(crate) fn describe<'a>(
    prefix: &str,
    files: impl Iterator<Item = (&'a str, &'a Path)>,
) -> String {
    let separator = if prefix.is_empty() { "" } else { "_" };
    let named = files.map(|(name, file)| format!("{prefix}{separator}{name}={}", file.display()));
    named.collect::<Vec<_>>().join(" ")
}

impl Identity {
    /// The files by the ends of the names of their settings.
    pub(crate) fn files(&self) -> [(&str, &Path); 2] {
        [("CERT_FILE", &self.certificate), ("KEY_FILE", &self.key)]
    }

    pub(crate) fn read(
        &self,
    ) -> Result<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>), FileError> {
        let chain = read_certificates(File::Certificate, &self.certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&read(File::Key, &self.key)?).map_err(|_| {
            FileError::new(File::Key, &self.key, "contains no unencrypted PEM private key")
        })?;
        Ok((chain, key))
    }

    /// Names the file that made rustls refuse certificate and key.
    pub(crate) fn unusable(&self, error: &rustls::Error) -> FileError {
        let certificate = self.certificate.display();
        match error {
            rustls::Error::InconsistentKeys(_) => {
                FileError::new(File::Key, &self.key, &format!("is not the key of {certificate}"))
            }
            rustls::Error::InvalidCertificate(_) => FileError::new(
                File::Certificate,
                &self.certificate,
                "contains an invalid certificate",
            ),
            _ => FileError::new(
                File::Key,
                &self.key,
                "contains a key of an unsupported kind; use ECDSA P-256",
            ),
        }
    }
}
