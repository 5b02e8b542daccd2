//! Writes the completions of bash, fish and zsh for every program into a folder.
//!
//! `deploy/release/build` runs it, so that an archive knows the commands and settings of its own programs:
//! `cargo run --package rolegate --example completions -- FOLDER`.

use clap_complete::{Shell, generate_to};
use rolegate_program::program::{Program, command_line};
use std::{env, io, path::Path};

fn main() -> io::Result<()> {
    let Some(folder) = env::args_os().nth(1) else {
        return Err(io::Error::other("usage: completions FOLDER"));
    };
    write_completions(Path::new(&folder))
}

/// Writes the files into a folder that exists.
fn write_completions(folder: &Path) -> io::Result<()> {
    write_program::<rolegate::settings::Settings>(folder)?;
    write_program::<rolegate_auth_service::settings::Settings>(folder)?;
    write_program::<rolegate_posts_service::settings::Settings>(folder)?;
    write_program::<rolegate_gateway::settings::Settings>(folder)
}

fn write_program<P: Program>(folder: &Path) -> io::Result<()> {
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        generate_to(shell, &mut command_line::<P>(), P::PROGRAM, folder)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write_completions;
    use std::{fs, path::Path, process::Command};
    use tempfile::TempDir;

    fn written() -> TempDir {
        let folder = tempfile::tempdir().expect("a folder");
        write_completions(folder.path()).expect("written");
        folder
    }

    fn text(folder: &Path, file: &str) -> String {
        fs::read_to_string(folder.join(file)).expect("a file of this name")
    }

    #[test]
    fn each_program_has_completions_for_each_shell() {
        let folder = written();
        let mut files: Vec<String> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|file| {
                file.expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("a name")
            })
            .collect();
        files.sort();
        assert_eq!(
            files,
            [
                "_auth-service",
                "_gateway",
                "_posts-service",
                "_rolegate",
                "auth-service.bash",
                "auth-service.fish",
                "gateway.bash",
                "gateway.fish",
                "posts-service.bash",
                "posts-service.fish",
                "rolegate.bash",
                "rolegate.fish",
            ]
        );
    }

    #[test]
    fn they_know_nested_commands_and_settings() {
        let folder = written();
        for file in ["rolegate.bash", "rolegate.fish", "_rolegate"] {
            let completions = text(folder.path(), file);
            for word in ["password-link", "bearer-listen-addr", "doctor"] {
                assert!(completions.contains(word), "{file} has no {word}");
            }
        }
        assert!(!text(folder.path(), "gateway.bash").contains("password-link"));
    }

    #[test]
    fn bash_can_read_them() {
        let folder = written();
        let script = folder.path().join("rolegate.bash");
        let status = Command::new("bash").arg("-n").arg(script).status();
        assert!(status.expect("bash runs").success());
    }
}
