//! The completions of releases in `deploy/completions/` know every command and flag of today's programs.

use clap_complete::{Shell, generate_to};
use rolegate_program::program::{Program, command_line};
use std::{collections::BTreeMap, env, fs, path::Path};

fn generate<P: Program>(folder: &Path) {
    for shell in [Shell::Bash, Shell::Fish, Shell::Zsh] {
        generate_to(shell, &mut command_line::<P>(), P::PROGRAM, folder).expect("generated");
    }
}

fn read(folder: &Path) -> BTreeMap<String, String> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| {
        let path = file.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, fs::read_to_string(path).expect("a file"))
    });
    files.collect()
}

#[test]
fn the_committed_completions_are_those_of_the_programs() {
    let generated = tempfile::tempdir().expect("a folder");
    generate::<rolegate::settings::Settings>(generated.path());
    generate::<rolegate_auth_service::settings::Settings>(generated.path());
    generate::<rolegate_posts_service::settings::Settings>(generated.path());
    generate::<rolegate_gateway::settings::Settings>(generated.path());
    let generated = read(generated.path());
    let committed = Path::new("../deploy/completions");
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::remove_dir_all(committed).expect("removed");
        fs::create_dir(committed).expect("created");
        for (name, content) in &generated {
            fs::write(committed.join(name), content).expect("written");
        }
    }
    assert!(
        read(committed) == generated,
        "deploy/completions are not those of the programs; \
         UPDATE_GENERATED=1 cargo test -p e2e --test operations completions writes them"
    );
}
