//! `auth-service` with cheap password hashes: the tests make thousands.

use std::process::ExitCode;

fn main() -> ExitCode {
    rolegate_auth_service::program(|settings| settings.use_bcrypt_cost_for_tests(4))
}
