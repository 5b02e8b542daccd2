//! Checks `deploy/systemd/rolegate@.service`, the units of the backup, and what the documents say about them.

use crate::repository::read;
use e2e::{Process, Program};
use std::{collections::BTreeMap, fs, io::Write as _, process::Command};

/// The worst exposure that we accept, as `systemd-analyze security` counts it, times ten.
const MAX_EXPOSURE: &str = "--threshold=20";

fn unit() -> String {
    read("deploy/systemd/rolegate@.service")
}

fn value<'a>(unit: &'a str, directive: &str) -> Option<&'a str> {
    unit.lines()
        .find_map(|line| line.strip_prefix(directive)?.strip_prefix('='))
}

#[test]
fn unit_is_confined_and_has_time_to_stop() {
    let unit = unit();
    for (directive, expected) in [
        (
            "After",
            "network-online.target time-sync.target postgresql.service",
        ),
        ("User", "rolegate-%i"),
        ("StateDirectory", "rolegate-%i"),
        ("NoNewPrivileges", "yes"),
        ("CapabilityBoundingSet", ""),
        ("ProtectSystem", "strict"),
        ("ProtectHome", "yes"),
        ("SystemCallFilter", "@system-service"),
        ("UMask", "0077"),
        ("EnvironmentFile", "/etc/rolegate/%i.env"),
        ("ExecReload", "/bin/kill -HUP $MAINPID"),
        ("Restart", "always"),
        ("RestartPreventExitStatus", "64"),
    ] {
        assert_eq!(value(&unit, directive), Some(expected), "{directive}");
    }
    let stop: u32 = value(&unit, "TimeoutStopSec")
        .and_then(|it| it.parse().ok())
        .expect("seconds");
    assert!(
        stop > 22,
        "the lame-duck time (2 s) and the drain (20 s) take longer"
    );
}

#[test]
fn units_have_a_low_exposure() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rolegate@auth-service.service");
    fs::write(&file, unit()).expect("written");
    let backup = folder.path().join("rolegate-backup.service");
    fs::write(&backup, read("deploy/systemd/rolegate-backup.service")).expect("written");
    let arguments = ["security", "--offline=true", "--no-pager", MAX_EXPOSURE];
    let analyze = Command::new("systemd-analyze")
        .args(arguments)
        .args([&file, &backup])
        .output();
    // Without systemd, only the test above checks the unit.
    let Ok(analyze) = analyze else {
        // Writes to stderr directly, because the test harness captures what `eprintln!` prints.
        let _ = writeln!(
            std::io::stderr(),
            "SKIPPED: systemd-analyze is not installed"
        );
        return;
    };
    let report = String::from_utf8_lossy(&analyze.stdout);
    assert!(
        analyze.status.success(),
        "{report}{}",
        String::from_utf8_lossy(&analyze.stderr)
    );
    assert!(report.contains("Overall exposure level"), "{report}");
}

/// It reads the files of the service, and its own are as private.
#[test]
fn backup_is_by_the_user_of_the_service_and_confined_as_it() {
    let service = unit().replace("%i", "rolegate");
    let backup = read("deploy/systemd/rolegate-backup.service");
    for directive in [
        "User",
        "Group",
        "EnvironmentFile",
        "Environment",
        "StateDirectoryMode",
        "UMask",
        "NoNewPrivileges",
        "CapabilityBoundingSet",
        "ProtectSystem",
        "ProtectHome",
        "SystemCallFilter",
        "MemoryDenyWriteExecute",
    ] {
        let expected = value(&service, directive);
        assert!(expected.is_some(), "{directive}");
        assert_eq!(value(&backup, directive), expected, "{directive}");
    }
    let folders = value(&backup, "StateDirectory").expect("folders");
    let mut folders = folders.split(' ');
    assert_eq!(folders.next(), value(&service, "StateDirectory"));
    assert_eq!(folders.next(), Some("rolegate-backup"));
    // The service removes old backups only after it has made a new one.
    let command = value(&backup, "ExecStart").expect("a command");
    assert!(
        command.contains("/usr/local/bin/rolegate backup"),
        "{command}"
    );
    let after = value(&backup, "ExecStartPost").expect("a command");
    assert!(after.contains("-delete"), "{after}");
}

/// Returns the name of a setting in a documented environment file, without the prefix. Every line must have the prefix,
/// because a program ignores a misspelt name without it.
fn name_without_prefix(line: &str) -> &str {
    let (name, _) = line.split_once('=').expect("NAME=value");
    let name = name.strip_prefix("ROLEGATE_");
    name.unwrap_or_else(|| panic!("{line} has no prefix"))
}

#[tokio::test]
async fn settings_of_the_tutorial_are_those_of_rolegate() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = read("docs/tutorials/one-server.md");
    let none = BTreeMap::new();
    let help = Process::run(Program::Rolegate, &["--help"], &none, folder.path(), "").await;
    let mut seen = 0;
    for start in [
        "Save this as `/etc/rolegate/rolegate.env`",
        "Append this to `/etc/rolegate/rolegate.env`",
    ] {
        let (_, rest) = document.split_once(start).expect("a file");
        let (_, rest) = rest.split_once("```sh\n").expect("its lines");
        let (lines, _) = rest.split_once("\n```").expect("its end");
        for line in lines.lines().filter(|line| !line.starts_with('#')) {
            let name = name_without_prefix(line);
            let is_setting = help.stdout.contains(&format!("[env: {name}="));
            assert!(is_setting, "{name}");
            seen += 1;
        }
    }
    assert!(seen >= 9, "{seen}");
}

#[test]
fn documents_and_manifests_name_the_version_of_the_programs() {
    let version = env!("CARGO_PKG_VERSION");
    for (name, text) in [
        ("README.md", format!("Rolegate {version}, users in SQLite")),
        (
            "docs/tutorials/one-server.md",
            format!("rolegate-{version}-x86_64-linux.tar.xz: OK"),
        ),
        (
            "clients/typescript/README.md",
            format!("rolegate-client-{version}.tgz"),
        ),
        (
            "deploy/kubernetes/base/kustomization.yaml",
            format!("newTag: {version}"),
        ),
        ("tests/long/kubernetes", format!("rolegate:{version}")),
    ] {
        assert!(read(name).contains(&text), "{name} does not say {text}");
    }
}

#[tokio::test]
async fn documented_environment_files_have_settings_of_their_programs() {
    let folder = tempfile::tempdir().expect("a folder");
    let document = read("docs/deployment.md");
    let mut seen = 0;
    for program in [
        Program::AuthService,
        Program::PostsService,
        Program::Gateway,
    ] {
        let start = format!("cat > /etc/rolegate/{}.env <<'END'\n", program.name());
        let (_, rest) = document.split_once(&start).expect("an environment file");
        let (lines, _) = rest.split_once("\nEND\n").expect("its end");
        let help = Process::run(program, &["--help"], &BTreeMap::new(), folder.path(), "").await;
        for line in lines.lines() {
            let name = name_without_prefix(line);
            let is_setting = [format!("[env: {name}="), format!("[env: {name}]")];
            let is_setting = is_setting.iter().any(|text| help.stdout.contains(text));
            assert!(is_setting, "{name} is no setting of {}", program.name());
            seen += 1;
        }
    }
    assert!(seen >= 8, "{seen}");
}

#[test]
fn gateway_has_no_secret_and_posts_service_only_that_of_the_database() {
    let document = read("docs/deployment.md");
    let files = |program: &str| -> Vec<String> {
        let start = format!("cat > /etc/rolegate/{program}.env <<'END'\n");
        let (_, rest) = document.split_once(&start).expect("an environment file");
        let (lines, _) = rest.split_once("\nEND\n").expect("its end");
        let values = lines.lines().filter_map(|line| line.split_once("_FILE="));
        values.map(|(_, path)| path.to_owned()).collect()
    };
    assert_eq!(files("gateway"), [""; 0]);
    assert_eq!(
        files("posts-service"),
        ["/etc/rolegate/posts-service/database-url"]
    );
    let own = |path: &String| path.starts_with("/etc/rolegate/auth-service/");
    assert!(files("auth-service").iter().all(own));
}

#[test]
fn documented_signals_reach_every_process() {
    for name in ["docs/key-rotation.md", "docs/tls.md", "docs/deployment.md"] {
        // With quotes, several process ids would become one argument.
        assert!(!read(name).contains("\"$(pidof"), "{name}");
    }
    assert!(read("docs/key-rotation.md").contains("kill -HUP $(pidof auth-service)"));
}
