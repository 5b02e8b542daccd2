//! Reads files that settings name, and the certificates and keys in them as PEM (RFC 7468). Errors never show
//! the contents of a file.

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
};
use tokio_rustls::rustls::{
    self, RootCertStore,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};

/// The maximum size of a PEM file in KiB, which is far more than a chain of certificates needs.
const MAX_PEM_KIB: u64 = 1024;

/// A certificate and its private key.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The PEM file with the certificate, followed by intermediate certificates if there are any.
    pub certificate: PathBuf,
    /// The PEM file with the private key (PKCS #8, PKCS #1 or SEC 1), which must not be encrypted.
    pub key: PathBuf,
}

/// The files of one side of TLS connections, which the settings `PREFIX_CERT_FILE`, `PREFIX_KEY_FILE` and a setting of
/// CAs name.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The PEM file with the certificate of this side.
    pub certificate: Option<PathBuf>,
    /// The PEM file with the private key of the certificate.
    pub key: Option<PathBuf>,
    /// The PEM file with the CAs that may issue the certificate of the peer.
    pub ca: Option<PathBuf>,
}

impl TlsFiles {
    /// Returns the certificate and its key; `None` if neither is set. It is an error to set only one of them, because
    /// neither can be used alone.
    pub fn identity(&self, prefix: &str) -> Result<Option<Identity>, FileError> {
        match (self.certificate.clone(), self.key.clone()) {
            (Some(certificate), Some(key)) => Ok(Some(Identity { certificate, key })),
            (Some(_), None) => Err(FileError::missing(prefix, "KEY", "CERT")),
            (None, Some(_)) => Err(FileError::missing(prefix, "CERT", "KEY")),
            (None, None) => Ok(None),
        }
    }
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub struct FileError {
    /// The setting that names the file.
    pub setting: String,
    pub(crate) problem: String,
}

impl FileError {
    /// Returns the error that `PREFIX_NAME_FILE` is not set, although another file of the same prefix is.
    #[must_use]
    pub fn missing(prefix: &str, name: &str, other: &str) -> Self {
        Self {
            setting: format!("{prefix}_{name}_FILE"),
            problem: format!("is required, because {prefix}_{other}_FILE is set"),
        }
    }
}

/// Reads a file of at most `max_kib` KiB. A larger file, or anything that is not a regular file, is refused,
/// because the path is then a mistake.
pub fn read_file(path: &Path, max_kib: u64) -> io::Result<Vec<u8>> {
    let metadata = fs::metadata(path)?;
    if !metadata.is_file() || metadata.len() > max_kib * 1024 {
        let limit = if max_kib < 1024 {
            format!("{max_kib} KiB")
        } else {
            format!("{} MiB", max_kib / 1024)
        };
        let problem = format!("it is not a file of at most {limit}");
        return Err(io::Error::other(problem));
    }
    fs::read(path)
}

/// Explains why a file cannot be read. The message is printed after the path of the file.
#[must_use]
pub fn explain_read_error(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".to_owned(),
        io::ErrorKind::PermissionDenied => "is not readable by this user".to_owned(),
        io::ErrorKind::InvalidData => "is not valid UTF-8".to_owned(),
        _ => format!("cannot be read: {error}"),
    }
}

/// A PEM file, and the setting that names it.
pub(crate) struct PemFile {
    setting: String,
    path: PathBuf,
}

impl PemFile {
    /// Creates the description of the file that the setting `PREFIX_NAME` names, or `NAME` if the prefix is
    /// empty. The file is not read yet.
    pub(crate) fn new(prefix: &str, name: &str, path: PathBuf) -> Self {
        let separator = if prefix.is_empty() { "" } else { "_" };
        Self {
            setting: format!("{prefix}{separator}{name}"),
            path,
        }
    }

    pub(crate) fn error(&self, problem: &str) -> FileError {
        let problem = format!("{} {problem}", self.path.display());
        FileError {
            setting: self.setting.clone(),
            problem,
        }
    }

    fn read(&self) -> Result<Vec<u8>, FileError> {
        read_file(&self.path, MAX_PEM_KIB).map_err(|error| self.error(&explain_read_error(&error)))
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, FileError> {
        match CertificateDer::pem_slice_iter(&self.read()?).collect::<Result<Vec<_>, _>>() {
            Ok(certificates) if !certificates.is_empty() => Ok(certificates),
            // The error of the library is dropped, because it may quote the file.
            _ => Err(self.error("contains no PEM certificate")),
        }
    }

    pub(crate) fn authorities(&self) -> Result<RootCertStore, FileError> {
        let mut store = RootCertStore::empty();
        for certificate in self.certificates()? {
            let added = store.add(certificate);
            added.map_err(|_| self.error("contains an invalid certificate"))?;
        }
        Ok(store)
    }
}

impl fmt::Display for PemFile {
    /// Formats setting and path, such as `AUTH_TLS_CERT_FILE=/etc/cert.pem`.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}={}", self.setting, self.path.display())
    }
}

/// The files of an [`Identity`].
pub(crate) struct IdentityFiles {
    pub(crate) certificate: PemFile,
    pub(crate) key: PemFile,
}

/// A certificate with its intermediate certificates, and its private key.
pub(crate) struct LoadedIdentity {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: PrivateKeyDer<'static>,
}

impl IdentityFiles {
    /// Creates the descriptions of the files that the settings `PREFIX_CERT_FILE` and `PREFIX_KEY_FILE` name.
    pub(crate) fn new(prefix: &str, Identity { certificate, key }: Identity) -> Self {
        Self {
            certificate: PemFile::new(prefix, "CERT_FILE", certificate),
            key: PemFile::new(prefix, "KEY_FILE", key),
        }
    }

    pub(crate) fn read(&self) -> Result<LoadedIdentity, FileError> {
        let chain = self.certificate.certificates()?;
        let key = PrivateKeyDer::from_pem_slice(&self.key.read()?)
            .map_err(|_| self.key.error("contains no unencrypted PEM private key"))?;
        Ok(LoadedIdentity { chain, key })
    }

    /// Returns an error that names the file because of which rustls refused the certificate and the key.
    pub(crate) fn explain_refusal(&self, error: &rustls::Error) -> FileError {
        match error {
            rustls::Error::InconsistentKeys(_) => {
                let certificate = self.certificate.path.display();
                self.key.error(&format!("is not the key of {certificate}"))
            }
            rustls::Error::InvalidCertificate(_) => {
                self.certificate.error("contains an invalid certificate")
            }
            _ => self
                .key
                .error("contains a key of an unsupported kind; use ECDSA P-256"),
        }
    }
}
