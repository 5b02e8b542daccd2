//! `deploy/systemd/rolegate@.service` and what the documents say of it.

use e2e::{Process, Program};
use std::{collections::BTreeMap, fs, io::Write as _, path::Path, process::Command};

/// Exposure as `systemd-analyze security` counts it, times ten; 20 is the worst that we accept.
const MAX_EXPOSURE: &str = "--threshold=20";

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

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
fn unit_has_a_low_exposure() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rolegate@auth-service.service");
    fs::write(&file, unit()).expect("written");
    let arguments = ["security", "--offline=true", "--no-pager", MAX_EXPOSURE];
    let analyze = Command::new("systemd-analyze")
        .args(arguments)
        .arg(&file)
        .output();
    // Where systemd is not installed, the test above is what remains.
    let Ok(analyze) = analyze else {
        // Directly: the test harness keeps what `eprintln!` prints.
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
            let (name, _) = line.split_once('=').expect("NAME=value");
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
        // With quotes, several process ids would be one argument.
        assert!(!read(name).contains("\"$(pidof"), "{name}");
    }
    assert!(read("docs/key-rotation.md").contains("kill -HUP $(pidof auth-service)"));
}
