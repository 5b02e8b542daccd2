//! The settings of programs that call posts-service.

use crate::client::PostsClient;
use rolegate_grpc_client::{ClientTls, TlsFiles, settings::ClientTlsFiles};
use rolegate_program::{doctor::Doctor, settings::SettingError};
use std::path::PathBuf;

/// The files of TLS connections to posts-service.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "TLS")]
pub struct PostsTlsSettings {
    /// PEM file of the CAs that may issue posts-service's certificate; required for https
    #[arg(long, env)]
    pub posts_client_tls_ca_file: Option<PathBuf>,

    /// PEM file of the client certificate, if posts-service requires one
    #[arg(long, env)]
    pub posts_client_tls_cert_file: Option<PathBuf>,

    /// PEM file of the key of the client certificate
    #[arg(long, env)]
    pub posts_client_tls_key_file: Option<PathBuf>,
}

const URL: &str = "POSTS_SERVICE_URL";

impl PostsTlsSettings {
    /// Returns a client of the posts-service at `url`, and the TLS configuration of its connections, which can
    /// be reloaded. Without a URL, there is no client, and TLS files are an error. The call needs a tokio
    /// runtime.
    pub fn client(
        &self,
        url: Option<&str>,
    ) -> Result<(Option<PostsClient>, Option<ClientTls>), SettingError> {
        let files = self.files();
        let Some(url) = url else {
            let Some(name) = files.first_set() else {
                return Ok((None, None));
            };
            return Err(SettingError::new(
                URL,
                format!("is required, because {name} is set"),
            ));
        };
        let (channel, tls) = files.connect_lazy(PostsClient::SERVICE, url)?;
        Ok((Some(PostsClient::new(channel)), tls))
    }

    /// Checks whether each replica of the posts-service at `url` serves, and reports the result to `doctor`.
    /// Without a URL, it reports that there is no posts-service, or an error if TLS files are set.
    pub async fn check(&self, doctor: &mut Doctor, url: Option<&str>) {
        let Some(url) = url else {
            let outcome = self.client(None);
            doctor.report(
                "posts",
                outcome.map(|_| "off, because POSTS_SERVICE_URL is not set"),
            );
            return;
        };
        self.files()
            .check(doctor, "posts", PostsClient::SERVICE, url)
            .await;
    }

    fn files(&self) -> ClientTlsFiles {
        ClientTlsFiles {
            url_setting: URL,
            prefix: "POSTS_CLIENT_TLS",
            files: TlsFiles {
                certificate: self.posts_client_tls_cert_file.clone(),
                key: self.posts_client_tls_key_file.clone(),
                ca: self.posts_client_tls_ca_file.clone(),
            },
        }
    }
}
