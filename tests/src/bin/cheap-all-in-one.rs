//! `all-in-one` with cheap password hashes: the tests make thousands.

use std::process::ExitCode;

fn main() -> ExitCode {
    all_in_one::program(|settings| settings.use_bcrypt_cost_for_tests(4))
}
