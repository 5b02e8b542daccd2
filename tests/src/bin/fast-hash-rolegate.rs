//! `rolegate` with fast password hashes: of cost 4, or of the cost that a test asks for.

use rolegate::settings::Settings;
use rolegate_program::program;
use std::process::ExitCode;

fn main() -> ExitCode {
    program::run::<Settings>(None, |settings| {
        settings.service.bcrypt_cost = e2e::program::hash_cost();
    })
}
