//! What the gateway does: it serves, and `doctor` checks its settings and the services.

use crate::{IGNORED_ADDRESSES, serve::serve, settings::Settings};
use rolegate_program::{
    doctor::Doctor,
    program::{Failure, Program},
    shutdown::Shutdown,
};
use std::convert::Infallible;

impl Program for Settings {
    type Command = Infallible;

    async fn serve(self, shutdown: Shutdown) -> Result<(), Failure> {
        serve(self, shutdown).await
    }

    /// Asks the services for their health, which `serve` does in the background.
    async fn check(&self, doctor: &mut Doctor) {
        doctor.tls("forward tls", self.public.forward_auth_tls());
        doctor.file_modes(&[
            ("FORWARD_AUTH_TLS_KEY_FILE", &self.public.forward_auth_tls_key_file),
            ("AUTH_CLIENT_TLS_KEY_FILE", &self.auth_tls.auth_client_tls_key_file),
            ("POSTS_CLIENT_TLS_KEY_FILE", &self.posts_tls.posts_client_tls_key_file),
        ]);
        self.auth_tls.check(doctor, &self.auth_service_url).await;
        self.posts_tls.check(doctor, self.posts_service_url.as_deref()).await;
        if let Err(error) = self.public.validate() {
            doctor.fail("addresses", error);
        }
        IGNORED_ADDRESSES.check(doctor, true, self.ops_listen_addr).await;
    }

    async fn execute(self, command: Infallible) -> Result<(), Failure> {
        match command {}
    }
}
