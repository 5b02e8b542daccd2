//! Certificate authorities and certificates for tests, valid and invalid.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, date_time_ymd,
};
use std::{fs, path::PathBuf};
use tempfile::TempDir;
use tonic::transport::{self, ClientTlsConfig};

/// A certificate authority, with a folder for the certificates that it issues.
#[derive(Debug)]
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: TempDir,
}

/// The PEM files of a certificate and its key.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// The file of the certificate.
    pub certificate: PathBuf,
    /// The file of the private key.
    pub key: PathBuf,
}

/// The period in which a certificate is valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Validity {
    /// The certificate is valid now.
    Current,
    /// The certificate was valid in 2020.
    Expired,
}

impl Authority {
    /// Creates an authority with a new key.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params
            .distinguished_name
            .push(DnType::CommonName, "Test CA");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key"));
        let folder = tempfile::tempdir().expect("a folder");
        let authority = Self {
            issuer: issuer.expect("signed"),
            folder,
        };
        fs::write(authority.file(), authority.issuer.pem()).expect("written");
        authority
    }

    /// Returns the PEM file of the authority's own certificate.
    pub fn file(&self) -> PathBuf {
        self.folder.path().join("authority.pem")
    }

    /// Issues a certificate to `name`, for a server at `hosts` and for a client.
    pub fn issue(&self, name: &str, hosts: &[&str], validity: Validity) -> Certificate {
        let hosts: Vec<String> = hosts.iter().map(|&host| host.to_owned()).collect();
        let mut params = CertificateParams::new(hosts).expect("names and addresses");
        params.distinguished_name.push(DnType::CommonName, name);
        params.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        if validity == Validity::Expired {
            params.not_before = date_time_ymd(2020, 1, 1);
            params.not_after = date_time_ymd(2021, 1, 1);
        }
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.issuer).expect("signed");
        let path = |ending| self.folder.path().join(format!("{name}.{ending}"));
        let files = Certificate {
            certificate: path("pem"),
            key: path("key"),
        };
        fs::write(&files.certificate, certificate.pem()).expect("written");
        fs::write(&files.key, key.serialize_pem()).expect("written");
        files
    }

    /// Returns the TLS settings of a generated client that trusts this authority and presents
    /// `identity`.
    pub fn client(&self, identity: Option<&Certificate>) -> ClientTlsConfig {
        let trusting = ClientTlsConfig::new()
            .ca_certificate(transport::Certificate::from_pem(self.issuer.pem()));
        let Some(Certificate { certificate, key }) = identity else {
            return trusting;
        };
        let read = |path| fs::read(path).expect("readable");
        trusting.identity(transport::Identity::from_pem(read(certificate), read(key)))
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}

impl Certificate {
    /// Overwrites both files with those of another certificate.
    pub fn replace_with(&self, other: &Self) {
        fs::copy(&other.certificate, &self.certificate).expect("copied");
        fs::copy(&other.key, &self.key).expect("copied");
    }
}
