//! Compares the commands in `docs/commands.md` with those in `--help` of the programs.

use crate::repository::read;
use e2e::{Process, Program};
use std::collections::{BTreeMap, BTreeSet};

/// The commands of a program, each with the names of its groups, such as `user create`.
pub(crate) type Commands = BTreeSet<String>;

#[tokio::test]
async fn reference_lists_exactly_the_commands_in_help() {
    let document = read("docs/commands.md");
    let (_, block) = document.split_once("```sh\n").expect("the commands");
    let (block, _) = block.split_once("```").expect("their end");
    let (auth, rolegate) = (
        commands(Program::AuthService).await,
        commands(Program::Rolegate).await,
    );
    assert_eq!(documented(block, "auth-service "), auth);
    assert_eq!(documented(block, "rolegate "), &rolegate - &auth);
    let shared = ["doctor", "healthcheck", "serve"].map(str::to_owned);
    let shared: Commands = shared.into_iter().collect();
    assert_eq!(commands(Program::Gateway).await, shared);
    let mut of_posts = &shared | &documented(block, "posts-service ");
    of_posts.insert("migrate".to_owned());
    assert_eq!(commands(Program::PostsService).await, of_posts);
}

/// Returns the commands in a documented code block: the words in lower case after the program's name.
fn documented(block: &str, program: &str) -> Commands {
    let is_word = |word: &&str| word.starts_with(|first: char| first.is_ascii_lowercase());
    let command = |line: &str| {
        let line = line
            .strip_prefix("(umask 077; ")
            .unwrap_or(line)
            .strip_prefix(program)?;
        Some(
            line.split(' ')
                .take_while(is_word)
                .collect::<Vec<_>>()
                .join(" "),
        )
    };
    block.lines().filter_map(command).collect()
}

/// Returns the commands that `--help` lists, with the commands of each group.
pub(crate) async fn commands(program: Program) -> Commands {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut commands, mut groups) = (Commands::new(), vec![String::new()]);
    while let Some(group) = groups.pop() {
        let arguments: Vec<&str> = group.split_whitespace().chain(["--help"]).collect();
        let exit = Process::run(program, &arguments, &BTreeMap::new(), folder.path(), "").await;
        let Some((_, list)) = exit.stdout.split_once("Commands:\n") else {
            commands.insert(group);
            continue;
        };
        let names = list.lines().take_while(|line| !line.is_empty());
        let names = names.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names = names.filter(|name| !matches!(*name, "" | "help"));
        groups.extend(names.map(|name| format!("{group} {name}").trim().to_owned()));
    }
    commands
}
