//! Checks that the commands in the documents write secrets, keys and databases only where git ignores them.

use crate::repository::read;

/// Returns the shell examples of a document.
fn examples(document: &str) -> Vec<String> {
    let blocks = document.split("```sh\n").skip(1);
    blocks
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect()
}

/// Returns the files that the commands of an example write, and the databases that they open.
fn written(example: &str) -> Vec<String> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, ';' | ')' | '\'' | '"' | '?');
    let mut files = Vec::new();
    for marker in ["> ", "-keyout ", "-out ", "sqlite://", "admin-password "] {
        for rest in example.split(marker).skip(1) {
            let file = rest
                .trim_start_matches('"')
                .split(is_end)
                .next()
                .unwrap_or_default();
            files.push(file.to_owned());
        }
    }
    files.retain(|file| file.contains(|c: char| c.is_alphabetic()) && !file.starts_with('&'));
    files
}

#[test]
fn secrets_are_made_where_git_ignores_them() {
    let ignored = read(".gitignore");
    for folder in ["/secrets", "/data"] {
        assert!(
            ignored.lines().any(|line| line == folder),
            "{folder} is not ignored"
        );
    }
    assert!(read(".dockerignore").lines().any(|line| line == "secrets"));
    let mut seen = 0;
    for name in [
        "README.md",
        "docs/deployment.md",
        "docs/backup-and-recovery.md",
        "docs/tls.md",
        "docs/key-rotation.md",
    ] {
        for example in examples(&read(name)) {
            // Later commands of the example, such as `&& mv`, work in the same folder.
            if example.starts_with("cd /etc/rolegate/auth-service\n") {
                seen += 1;
                continue;
            }
            for file in written(&example) {
                seen += 1;
                let is_safe = ["secrets/", "data/", "/"]
                    .iter()
                    .any(|it| file.starts_with(it));
                assert!(
                    is_safe,
                    "{name} writes {file}, which git does not ignore:\n{example}"
                );
            }
        }
    }
    assert!(seen >= 12, "only {seen} were found");
}

/// Dumps contain password hashes, so other local users must be able to read neither them nor secrets.
#[test]
fn directories_of_secrets_and_dumps_are_private() {
    for name in [
        "README.md",
        "docs/deployment.md",
        "docs/backup-and-recovery.md",
        "docs/tls.md",
    ] {
        let document = read(name);
        assert!(
            !document.contains("mkdir -p secrets"),
            "{name} makes it readable by others"
        );
        for line in document
            .lines()
            .filter(|line| line.contains("pg_dump --") && !line.contains("- "))
        {
            assert!(line.contains("(umask 077; "), "{name}: {line}");
        }
        let backups = document.lines().filter(|line| line.contains(".backup '"));
        for line in backups {
            assert!(line.contains("(umask 077; "), "{name}: {line}");
        }
    }
}

#[test]
fn every_step_of_the_key_rotation_begins_in_the_directory_of_the_secrets() {
    for example in examples(&read("docs/key-rotation.md")) {
        if example.lines().any(writes_a_secret_here) {
            assert!(
                example.starts_with("cd /etc/rolegate/auth-service\n"),
                "{example}"
            );
        }
    }
}

/// Whether a line writes a secret into a file of the current directory.
fn writes_a_secret_here(line: &str) -> bool {
    let generates = line.contains("openssl rand") && line.contains("> ") && !line.contains("> /");
    let copies = line.contains("cp -p ") && !line.contains("cp -p /");
    generates || copies
}
