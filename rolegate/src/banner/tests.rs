use super::{AdminPasswordHint, Container, FirstSteps, quote, reachable, reset_password};
use rolegate_sql_store::DatabaseUrl;
use std::{fs, path::Path};

fn banner(admin_password: AdminPasswordHint) -> String {
    let address = "127.0.0.1:1".parse().ok();
    let steps = FirstSteps {
        bearer: address,
        basic: address,
        admin_password,
        reset_password: "rolegate user reset-password admin".to_owned(),
        container: None,
    };
    steps.text()
}

#[test]
fn paths_are_quoted_for_the_shell() {
    let quote = |path: &str| quote(Path::new(path));
    assert_eq!(
        quote("./data/initial-admin-password"),
        "./data/initial-admin-password"
    );
    assert_eq!(quote("my data/x"), "'my data/x'");
    assert_eq!(quote("it's $HOME"), r"'it'\''s $HOME'");
}

#[test]
fn commands_name_an_address_that_clients_can_connect_to() {
    for (listening, client) in [
        ("0.0.0.0:8000", "127.0.0.1:8000"),
        ("[::]:8000", "[::1]:8000"),
        ("192.0.2.1:8000", "192.0.2.1:8000"),
    ] {
        let listening = listening.parse().expect("an address");
        assert_eq!(reachable(listening).to_string(), client);
    }
}

#[test]
fn commands_of_a_container_work_outside() {
    let text = |admin_password| {
        let steps = FirstSteps {
            bearer: "0.0.0.0:8000".parse().ok(),
            basic: None,
            admin_password,
            reset_password: "/rolegate user reset-password admin".to_owned(),
            container: Some(Container {
                engine: "docker",
                id: "0123456789ab".to_owned(),
            }),
        };
        steps.text()
    };
    let unknown = text(AdminPasswordHint::Unknown);
    let command = "\n  docker exec -it 0123456789ab /rolegate user reset-password admin";
    assert!(unknown.ends_with(command), "{unknown}");
    let text = text(AdminPasswordHint::In(Path::new("/data/my password")));
    assert!(
        text.starts_with(
            "The password of the user admin is in /data/my password of this container\n"
        )
    );
    let command = "$(docker cp 0123456789ab:'/data/my password' - | tar -xO)";
    assert!(
        text.contains(command) && text.contains("http://127.0.0.1:8000/login"),
        "{text}"
    );
    assert!(!text.contains("$(cat"), "{text}");
}

#[test]
fn commands_read_only_a_file_that_contains_the_password() {
    let path = Path::new("my data/password");
    assert!(banner(AdminPasswordHint::In(path)).contains("$(cat 'my data/password')"));
    for hint in [AdminPasswordHint::MaybeIn(path), AdminPasswordHint::Unknown] {
        let banner = banner(hint);
        assert!(
            !banner.contains("PASSWORD") && !banner.contains("$(cat"),
            "{banner}"
        );
        assert!(
            banner.contains("\n  rolegate user reset-password admin\n"),
            "{banner}"
        );
        // curl prompts for the password.
        assert!(banner.ends_with("/protected -u admin"), "{banner}");
    }
}

#[test]
fn the_command_that_sets_a_password_names_the_database_unless_its_url_is_a_secret() {
    let command = |url: &str, is_in_data_dir| {
        let url = DatabaseUrl::required("DATABASE_URL", Some(url.into()), None);
        let data_dir = Path::new("/my data");
        let command = reset_password(data_dir, &url.expect("valid"), is_in_data_dir);
        command
            .split_once(" user ")
            .expect("a command")
            .1
            .to_owned()
    };
    let own = command("sqlite:///my data/rolegate.db", true);
    assert_eq!(own, "reset-password admin --data-dir '/my data'");
    let other = command("sqlite:///a/users.db", false);
    assert_eq!(
        other,
        "reset-password admin --database-url sqlite:///a/users.db"
    );
    let server = command("postgres://rolegate:hunter2@db/users", false);
    assert_eq!(server, "reset-password admin");
}

#[test]
fn a_file_is_printed_by_the_engine_and_the_id_of_the_container() {
    let root = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| {
        let path = root.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("created");
        fs::write(path, text).expect("written");
    };
    let command = || Container::find(root.path()).map(|found| found.print_file("/data/x"));
    write("etc/hostname", "0123456789ab\n");
    assert_eq!(command(), None, "a machine");
    write("run/.containerenv", "");
    assert_eq!(
        command().as_deref(),
        Some("podman cp 0123456789ab:/data/x - | tar -xO")
    );
    write(".dockerenv", "");
    assert_eq!(
        command().as_deref(),
        Some("docker cp 0123456789ab:/data/x - | tar -xO")
    );
    for name in ["web-1\n", "0123456789ab.example\n", "", "$(reboot)abc\n"] {
        write("etc/hostname", name);
        assert_eq!(
            command().as_deref(),
            Some("docker cp CONTAINER:/data/x - | tar -xO")
        );
    }
    write("bin/sh", "");
    assert_eq!(command(), None, "a container in which people work");
}
