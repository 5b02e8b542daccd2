//! For programs that ask posts-service: whether they do, and how their connections are encrypted.

use crate::PostsClient;
use rolegate_auth_client::{ClientTls, settings::ClientTlsFiles};
use rolegate_service_runtime::settings::SettingError;
use std::path::PathBuf;

/// The files of encrypted connections to posts-service.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct PostsTlsSettings {
    /// PEM file of the authorities that posts-service's certificate must come from; required for https
    #[arg(long, env = "POSTS_CLIENT_TLS_CA_FILE")]
    pub posts_client_tls_ca_file: Option<PathBuf>,

    /// PEM file of the certificate to show to posts-service, where it demands one
    #[arg(long, env = "POSTS_CLIENT_TLS_CERT_FILE")]
    pub posts_client_tls_cert_file: Option<PathBuf>,

    /// PEM file of its key
    #[arg(long, env = "POSTS_CLIENT_TLS_KEY_FILE")]
    pub posts_client_tls_key_file: Option<PathBuf>,
}

const URL: &str = "POSTS_SERVICE_URL";

impl PostsTlsSettings {
    /// A client of the posts-service at `url`, if there is one, and what its connections are
    /// encrypted with.
    ///
    /// # Panics
    ///
    /// Outside a tokio runtime.
    pub fn client(
        &self,
        url: Option<&str>,
    ) -> Result<(Option<PostsClient>, Option<ClientTls>), SettingError> {
        let files = ClientTlsFiles {
            url_setting: URL,
            prefix: "POSTS_CLIENT_TLS",
            authorities: self.posts_client_tls_ca_file.clone(),
            certificate: self.posts_client_tls_cert_file.clone(),
            key: self.posts_client_tls_key_file.clone(),
        };
        let Some(url) = url else {
            return match files.given() {
                Some(name) => {
                    let problem = format!("is required, because {name} is set");
                    Err(SettingError::new(URL, problem))
                }
                None => Ok((None, None)),
            };
        };
        let tls = files.load(url)?;
        let client = match &tls {
            Some(tls) => PostsClient::connect_lazy_tls(url, tls.clone()),
            None => PostsClient::connect_lazy(url),
        };
        let client = client.map_err(|error| SettingError::new(URL, error.to_string()))?;
        Ok((Some(client), tls))
    }
}
