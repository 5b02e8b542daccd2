//! `gateway doctor`.

use crate::{IGNORED_ADDRESSES, settings::Settings};
use rolegate_http_server::doctor::Doctor;
use rolegate_program::{
    bind_address::BindAddress,
    program::{Failure, ProgramSettings as _},
};

/// Runs the steps of `serve` in its order, and goes on after a failure. The services are asked for
/// their health, which `serve` does in the background.
pub(super) async fn run(settings: &Settings) -> Result<(), Failure> {
    let mut doctor = Doctor::default();
    doctor.open_files();
    doctor.tls("forward tls", settings.public.forward_auth_tls());
    doctor.file_modes(&[
        ("FORWARD_AUTH_TLS_KEY_FILE", settings.public.forward_auth_tls_key_file.as_deref()),
        ("AUTH_CLIENT_TLS_KEY_FILE", settings.auth_tls.auth_client_tls_key_file.as_deref()),
        ("POSTS_CLIENT_TLS_KEY_FILE", settings.posts_tls.posts_client_tls_key_file.as_deref()),
    ]);
    for line in settings.auth_tls.probe(&settings.auth_service_url).await {
        doctor.report("auth", line);
    }
    if let Some(url) = settings.posts_service_url.as_deref() {
        for line in settings.posts_tls.probe(url).await {
            doctor.report("posts", line);
        }
    } else {
        let without = settings.posts_tls.client(None);
        doctor.report("posts", without.map(|_| "off, because POSTS_SERVICE_URL is not set"));
    }
    if let Err(error) = settings.public.validate() {
        doctor.report("addresses", Err::<&str, _>(error));
    }
    let addresses = settings.client_addresses().into_iter();
    let addresses: Vec<_> =
        addresses.map(|(name, address)| (name, BindAddress::Address(address))).collect();
    doctor.addresses(&addresses, settings.ops_listen_addr).await;
    doctor.ignored_addresses(&IGNORED_ADDRESSES, true, settings.ops_listen_addr).await;
    doctor.finish()
}
