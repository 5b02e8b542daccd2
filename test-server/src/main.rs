//! The program `rolegate-test-server`.

fn main() -> std::process::ExitCode {
    rolegate_test_server::run()
}
