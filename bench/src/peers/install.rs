//! Installs the packages beside this program, once for each set of versions.

use crate::{Failure, console, machine::first_line, report};
use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command as StdCommand, Stdio},
};
use tokio::process::Command;

const REQUIREMENTS: &str = include_str!("../../peers/fastapi/requirements.lock");
const PACKAGES: &str = include_str!("../../peers/better-auth/package-lock.json");
const FASTAPI: [(&str, &str); 2] = [
    ("main.py", include_str!("../../peers/fastapi/main.py")),
    ("requirements.lock", REQUIREMENTS),
];
const BETTER_AUTH: [(&str, &str); 3] = [
    (
        "server.js",
        include_str!("../../peers/better-auth/server.js"),
    ),
    (
        "package.json",
        include_str!("../../peers/better-auth/package.json"),
    ),
    ("package-lock.json", PACKAGES),
];

/// The folders of the packages and the code that uses them.
pub(super) struct Packages {
    /// The folder of FastAPI, which has a virtual environment in `venv`.
    pub(super) fastapi: PathBuf,
    pub(super) better_auth: PathBuf,
}

/// Installs the packages of both. Returns an error if Python with venv, Node or npm is missing.
pub(super) async fn install() -> Result<Packages, Failure> {
    let needs = [
        (
            "python3",
            &["-c", "import ensurepip, venv"][..],
            "python3 with python3-venv",
        ),
        ("node", &["--version"], "node"),
        ("npm", &["--version"], "npm"),
    ];
    for (program, arguments, name) in needs {
        if run(Command::new(program).args(arguments)).await.is_err() {
            return Err(format!("bench peers needs {name}, which is not installed").into());
        }
    }
    let folder = std::env::current_exe()?.with_file_name("bench-peers");
    let (fastapi, better_auth) = (folder.join("fastapi"), folder.join("better-auth"));
    let venv: &[&[&str]] = &[
        &["python3", "-m", "venv", "--clear", "venv"],
        &[
            "venv/bin/pip",
            "install",
            "--quiet",
            "--no-deps",
            "--requirement",
            "requirements.lock",
        ],
    ];
    install_into(&fastapi, &FASTAPI, REQUIREMENTS, venv).await?;
    // The packages contain what their install scripts would build.
    let npm: &[&[&str]] = &[&["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]];
    install_into(&better_auth, &BETTER_AUTH, PACKAGES, npm).await?;
    Ok(Packages {
        fastapi,
        better_auth,
    })
}

async fn install_into(
    folder: &Path,
    files: &[(&str, &str)],
    versions: &str,
    commands: &[&[&str]],
) -> Result<(), Failure> {
    for (name, text) in files {
        report::write(&folder.join(name), text)?;
    }
    let installed = folder.join("installed");
    if std::fs::read_to_string(&installed).is_ok_and(|installed| installed == versions) {
        return Ok(());
    }
    console::progress(&format!("installing packages into {}", folder.display()));
    for command in commands {
        let (program, arguments) = command.split_first().ok_or("an empty command")?;
        // A path is relative to the folder, and a name is looked up in PATH.
        let path = folder.join(program);
        let program = if path.is_file() { path } else { program.into() };
        run(Command::new(program).args(arguments).current_dir(folder)).await?;
    }
    Ok(std::fs::write(installed, versions)?)
}

/// Runs a command and returns what it prints on stdout. If it fails, the error has everything that it has printed.
pub(super) async fn run(command: &mut Command) -> Result<String, Failure> {
    let output = command
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await;
    let command = command.as_std();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8(output.stdout)?),
        Ok(output) => {
            let printed = [output.stdout, output.stderr].concat();
            Err(format!("{command:?} failed:\n{}", String::from_utf8_lossy(&printed)).into())
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            Err(format!("{} is not installed", command.get_program().display()).into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the versions of the packages that matter to the results.
pub(super) fn versions() -> Vec<String> {
    let of_python = [
        "fastapi",
        "uvicorn",
        "SQLAlchemy",
        "asyncpg",
        "PyJWT",
        "pwdlib",
        "bcrypt",
    ];
    let of_python = REQUIREMENTS.lines().filter_map(|line| {
        let (name, version) = line.split_once("==")?;
        of_python
            .contains(&name)
            .then(|| format!("{name} {version}"))
    });
    let of_node: serde_json::Value = serde_json::from_str(PACKAGES).unwrap_or_default();
    let of_node = of_node["packages"][""]["dependencies"]
        .as_object()
        .into_iter()
        .flatten();
    let of_node =
        of_node.map(|(name, version)| format!("{name} {}", version.as_str().unwrap_or("")));
    let runtime = |name: &str| first_line(StdCommand::new(name).arg("--version"));
    vec![
        [vec![runtime("python3")], of_python.collect()]
            .concat()
            .join(", "),
        [vec![format!("Node {}", runtime("node"))], of_node.collect()]
            .concat()
            .join(", "),
    ]
}

#[cfg(test)]
mod tests {
    use super::{Command, run, versions};

    #[tokio::test]
    async fn a_missing_program_is_named() {
        let missing = run(&mut Command::new("no-such-program")).await;
        let text = missing.expect_err("it does not exist").to_string();
        assert_eq!(text, "no-such-program is not installed");
    }

    #[tokio::test]
    async fn a_failed_command_shows_what_it_printed() {
        let failed = run(Command::new("sh").args(["-c", "echo reason; exit 1"])).await;
        let text = failed.expect_err("it fails").to_string();
        assert!(text.ends_with("failed:\nreason\n"), "{text}");
    }

    #[test]
    fn the_versions_are_those_of_the_locks() {
        let [python, node] = &versions()[..] else {
            panic!("two lines")
        };
        for name in ["fastapi ", "pwdlib ", "asyncpg "] {
            assert!(python.contains(name), "{name} is not in {python}");
        }
        assert!(node.contains("better-auth 1."), "{node}");
    }
}
