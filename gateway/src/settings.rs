//! Reads the settings of the gateway from flags and environment variables.

mod allowed_origins;

pub use allowed_origins::AllowedOrigins;

use crate::logo;
use clap::ArgAction;
use rolegate_auth_client::settings::AuthTlsSettings;
use rolegate_grpc_tls::{HTTP_1, ServerTls, TlsFiles};
use rolegate_posts_client::settings::PostsTlsSettings;
use rolegate_program::{
    bind_address::BindAddress,
    cidr_set::CidrSet,
    program::CommonSettings,
    settings::{
        ListenAddress, SettingError, listen_address, number_between, socket_address, switch,
    },
};
use rolegate_sign_in::settings::SignInSettings;
use std::{net::SocketAddr, path::PathBuf};

/// The public JSON API of Rolegate.
///
/// Translates HTTP into gRPC and back. Every flag can also be set by the environment variable shown
/// with it.
#[derive(Clone, Debug, clap::Parser)]
#[command(name = "gateway", version, next_help_heading = "Addresses")]
pub struct Settings {
    /// URL of the gRPC port of auth-service; the host may resolve to several replicas
    #[arg(long, env, default_value = "http://127.0.0.1:50051")]
    pub auth_service_url: String,

    /// URL of the gRPC port of posts-service; the host may resolve to several replicas. Without it, the
    /// API has no routes for posts
    #[arg(long, env)]
    pub posts_service_url: Option<String>,

    /// IP address and port of /livez, /readyz and /metrics; must not be public
    #[arg(long, env, default_value = "127.0.0.1:9000",
        value_parser = socket_address::<9000>)]
    pub ops_listen_addr: SocketAddr,

    /// The settings of the public API.
    #[command(flatten)]
    pub public: PublicSettings,

    /// The settings of signing in with a browser.
    #[command(flatten)]
    pub sign_in: SignInSettings,

    /// The TLS files for connections to auth-service.
    #[command(flatten)]
    pub auth_tls: AuthTlsSettings,

    /// The TLS files for connections to posts-service.
    #[command(flatten)]
    pub posts_tls: PostsTlsSettings,

    /// The settings that every program has.
    #[command(flatten)]
    pub common: CommonSettings,
}

/// The settings of the public API, which `gateway` and `rolegate` have in common.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Addresses")]
pub struct PublicSettings {
    /// IP address and port of the bearer-token variant (users, tokens, roles), or off
    #[arg(long, env, default_value = "127.0.0.1:8000",
        value_parser = listen_address::<8000>)]
    pub bearer_listen_addr: ListenAddress,

    /// IP address and port of the HTTP Basic variant, or off
    #[arg(long, env, default_value = "127.0.0.1:8001",
        value_parser = listen_address::<8001>)]
    pub basic_listen_addr: ListenAddress,

    /// IP address and port of /authorize and /introspect, where proxies ask whether a request may pass, or
    /// off; must not be public
    #[arg(long, env, default_value = "127.0.0.1:8002",
        value_parser = listen_address::<8002>)]
    pub forward_auth_listen_addr: ListenAddress,

    /// CIDRs of proxies whose X-Forwarded-For, x-request-id and traceparent headers are trusted,
    /// separated by commas; empty for none
    #[arg(long, env, default_value = "", hide_default_value = true)]
    pub trusted_proxies: CidrSet,

    /// Serve the console, a page for admins, at /console/ of the bearer-token variant
    #[arg(long, env, help_heading = "Browsers", default_value = "on", action = ArgAction::Set, value_parser = switch())]
    pub console: bool,

    /// Serve /openapi.json, and Swagger UI at /docs, at the public addresses
    #[arg(long, env, help_heading = "Browsers", default_value = "on", action = ArgAction::Set, value_parser = switch())]
    pub api_docs: bool,

    /// SVG or PNG file of at most 64 KiB that the sign-in pages show
    #[arg(long, env, help_heading = "Browsers")]
    pub sign_in_logo_file: Option<PathBuf>,

    /// Origins that CORS allows, as browsers send them, separated by commas; * for all, empty for
    /// none
    #[arg(
        long,
        env,
        help_heading = "Browsers",
        default_value = "",
        hide_default_value = true
    )]
    pub cors_allowed_origins: AllowedOrigins,

    /// Connections that one client address (IPv6: one /64) may have to the public addresses, 1 to
    /// 10000; trusted proxies may have any number
    #[arg(long, env, help_heading = "Limits", default_value = "1000",
        value_parser = number_between(1_u32, 10_000))]
    pub max_connections_per_address: u32,

    /// MiB of request bodies that may be read at a time, 16 to 65536; further requests wait for 5 seconds,
    /// then get 503. One client gets at most half
    #[arg(long, env, help_heading = "Limits", default_value = "64",
        value_parser = number_between(16_usize, 65_536))]
    pub request_memory_mib: usize,

    /// MiB of posts that may be in responses at a time until clients have read them, 32 to 65536; further
    /// requests wait for 5 seconds, then get 503. One client gets at most half
    #[arg(long, env, help_heading = "Limits", default_value = "64",
        value_parser = number_between(32_usize, 65_536))]
    pub response_memory_mib: usize,

    /// PEM file of the certificate of the address of proxies; enables TLS there
    #[arg(long, env, help_heading = "TLS")]
    pub forward_auth_tls_cert_file: Option<PathBuf>,

    /// PEM file of the private key of that certificate
    #[arg(long, env, help_heading = "TLS")]
    pub forward_auth_tls_key_file: Option<PathBuf>,

    /// PEM file of CAs; requires every proxy to present a certificate of one of them
    #[arg(long, env, help_heading = "TLS")]
    pub forward_auth_tls_client_ca_file: Option<PathBuf>,
}

impl PublicSettings {
    /// Returns the listeners that are on, with the names of their settings.
    pub fn listeners(&self) -> Vec<(&'static str, BindAddress)> {
        [
            ("BEARER_LISTEN_ADDR", self.bearer_listen_addr),
            ("BASIC_LISTEN_ADDR", self.basic_listen_addr),
            ("FORWARD_AUTH_LISTEN_ADDR", self.forward_auth_listen_addr),
        ]
        .into_iter()
        .filter_map(|(name, ListenAddress(address))| Some((name, address?.into())))
        .collect()
    }

    /// Loads the TLS files of the address of proxies. Returns `None` if it has no TLS.
    pub fn forward_auth_tls(&self) -> Result<Option<ServerTls>, SettingError> {
        let tls = ServerTls::load(
            "FORWARD_AUTH_TLS",
            TlsFiles {
                certificate: self.forward_auth_tls_cert_file.clone(),
                key: self.forward_auth_tls_key_file.clone(),
                ca: self.forward_auth_tls_client_ca_file.clone(),
            },
            HTTP_1,
        );
        Ok(tls?)
    }

    /// Fails if both variants of the API are off.
    pub(crate) fn require_variant(&self) -> Result<(), SettingError> {
        if self.bearer_listen_addr.0.is_some() || self.basic_listen_addr.0.is_some() {
            return Ok(());
        }
        let problem = "is off, and so is BASIC_LISTEN_ADDR; set at least one to an address";
        Err(SettingError::new("BEARER_LISTEN_ADDR", problem))
    }

    /// Fails if both variants of the API are off, or if the logo is not a valid picture.
    pub fn validate(&self) -> Result<(), SettingError> {
        logo::load(self.sign_in_logo_file.as_deref())?;
        self.require_variant()
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn defaults_listen_on_loopback_only() {
        let settings = Settings::from_args(&[]).expect("every setting has a default");
        let bearer = settings.public.bearer_listen_addr.0.expect("on");
        let basic = settings.public.basic_listen_addr.0.expect("on");
        let forward_auth = settings.public.forward_auth_listen_addr.0.expect("on");
        assert_eq!(bearer.to_string(), "127.0.0.1:8000");
        assert_eq!(basic.to_string(), "127.0.0.1:8001");
        assert_eq!(forward_auth.to_string(), "127.0.0.1:8002");
        assert_eq!(settings.ops_listen_addr.to_string(), "127.0.0.1:9000");
        assert_eq!(settings.auth_service_url, "http://127.0.0.1:50051");
        assert_eq!(settings.common.lame_duck_seconds, 2);
        assert!(settings.public.api_docs);
        assert!(settings.public.console);
        assert!(settings.public.cors_allowed_origins.0.is_none());
        assert!(
            !settings
                .public
                .trusted_proxies
                .contains("127.0.0.1".parse().expect("an address"))
        );
    }

    #[test]
    fn variant_can_be_off() {
        let settings =
            Settings::from_args(&["--basic-listen-addr", "off"]).expect("off is allowed");
        assert_eq!(settings.public.basic_listen_addr.0, None);
    }

    #[test]
    fn invalid_values_are_rejected() {
        for invalid in [
            ["--lame-duck-seconds", "301"],
            ["--lame-duck-seconds", "-1"],
            ["--bearer-listen-addr", "8000"],
            ["--forward-auth-listen-addr", "8002"],
            ["--forward-auth-listen-addr", "on"],
            ["--trusted-proxies", "example.com"],
            ["--ops-listen-addr", "off"],
            ["--request-memory-mib", "15"],
            ["--request-memory-mib", "64M"],
            ["--response-memory-mib", "65537"],
            ["--response-memory-mib", "31"],
            ["--max-connections-per-address", "0"],
            ["--max-connections-per-address", "10001"],
            ["--api-docs", ""],
            ["--api-docs", "On"],
            ["--api-docs", "true"],
            ["--console", ""],
            ["--console", "Off"],
            ["--console", "false"],
            ["--cors-allowed-origins", "app.example"],
        ] {
            assert!(Settings::from_args(&invalid).is_err(), "{invalid:?}");
        }
    }
}
