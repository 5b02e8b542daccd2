//! Checks the properties of docker-compose.yml that need no container engine.

use crate::repository::read;
use e2e::{Process, Program};
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) fn compose() -> Value {
    let text = read("docker-compose.yml");
    serde_saphyr::from_str(&text).expect("it is YAML")
}

fn services(compose: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let services = compose["services"].as_object().expect("it has services");
    services
        .iter()
        .map(|(name, service)| (name.as_str(), service))
}

/// Returns the program that a service runs, if it is one of ours.
pub(crate) fn program(service: &Value) -> Option<Program> {
    match service["command"][0].as_str()? {
        "auth-service" => Some(Program::AuthService),
        "posts-service" => Some(Program::PostsService),
        "gateway" => Some(Program::Gateway),
        _ => None,
    }
}

#[test]
fn services_start_after_their_dependencies() {
    let (healthy, done) = ("service_healthy", "service_completed_successfully");
    let wanted = json!({
        "init-secrets": null,
        "postgres": { "init-secrets": { "condition": done } },
        "migrate": { "postgres": { "condition": healthy } },
        "auth-service": { "migrate": { "condition": done } },
        "migrate-posts": { "postgres": { "condition": healthy } },
        "posts-service": {
            "migrate-posts": { "condition": done }, "auth-service": { "condition": healthy },
        },
        "gateway": { "posts-service": { "condition": healthy } },
        "balancer": { "gateway": { "condition": healthy } },
    });
    let compose = compose();
    for (name, after) in wanted.as_object().expect("an object") {
        assert_eq!(compose["services"][name]["depends_on"], *after, "{name}");
    }
    // These services need a health check, because others wait until they are healthy.
    for name in ["postgres", "auth-service", "posts-service", "gateway"] {
        let test = &compose["services"][name]["healthcheck"]["test"];
        assert_eq!(
            test[0], "CMD",
            "{name}: there is no shell in the image: {test}"
        );
    }
}

#[test]
fn two_ports_are_published_and_every_service_can_be_scaled() {
    let compose = compose();
    for (name, service) in services(&compose) {
        assert_eq!(
            service["container_name"],
            Value::Null,
            "{name} could not be scaled"
        );
        let ports = if name == "balancer" {
            json!(["8000:8000", "8001:8001"])
        } else {
            json!(null)
        };
        assert_eq!(service["ports"], ports, "{name}");
        assert_ne!(service["network_mode"], "host", "{name}");
    }
}

#[test]
fn secrets_and_networks_are_reachable_only_where_needed() {
    let compose = compose();
    let services_with = |has: &dyn Fn(&Value) -> bool| -> Vec<&str> {
        services(&compose)
            .filter(|(_, service)| has(service))
            .map(|(name, _)| name)
            .collect()
    };
    let mounts = |mount: &str| {
        let mount = json!(mount);
        services_with(&|service| {
            service["volumes"]
                .as_array()
                .is_some_and(|list| list.contains(&mount))
        })
    };
    // Only auth-service mounts the signing secret. The others mount the secrets of the database.
    assert_eq!(mounts("secrets:/secrets:ro,nocopy"), ["auth-service"]);
    let of_database = ["migrate", "migrate-posts", "postgres", "posts-service"];
    assert_eq!(mounts("database-secrets:/secrets:ro,nocopy"), of_database);
    assert_eq!(mounts("secrets:/secrets"), ["init-secrets"]);
    assert_eq!(
        mounts("database-secrets:/database-secrets"),
        ["init-secrets"]
    );
    let in_any_way = |service: &Value| service["volumes"].to_string().contains("secrets");
    assert_eq!(
        services_with(&in_any_way),
        [
            "auth-service",
            "init-secrets",
            "migrate",
            "migrate-posts",
            "postgres",
            "posts-service"
        ]
    );
    let on = |network: &str| {
        let network = json!(network);
        services_with(&|service| match &service["networks"] {
            Value::Array(list) => list.contains(&network),
            Value::Object(map) => map.contains_key(network.as_str().expect("text")),
            _ => false,
        })
    };
    let with_database = [
        "auth-service",
        "migrate",
        "migrate-posts",
        "postgres",
        "posts-service",
    ];
    assert_eq!(on("database"), with_database);
    assert_eq!(on("auth"), ["auth-service", "gateway", "posts-service"]);
    assert_eq!(on("gateways"), ["balancer", "gateway"]);
    assert_eq!(on("metrics"), ["auth-service", "gateway", "posts-service"]);
    assert_eq!(on("public"), ["balancer"]);
    for network in ["database", "auth", "gateways", "metrics"] {
        assert_eq!(compose["networks"][network]["internal"], true, "{network}");
    }
}

/// The files that `init-secrets` creates, and those that it copies for the other services.
const SECRETS: [&str; 6] = [
    "signing-secret",
    "signing-secrets-accepted",
    "second-factor-key",
    "admin-password",
    "database-password",
    "database-url",
];
const DATABASE_SECRETS: [&str; 2] = ["database-password", "database-url"];

#[test]
fn every_secret_file_is_in_a_mounted_folder() {
    let mut looked_at = 0;
    for (name, service) in services(&compose()) {
        let environment = service["environment"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        let files = environment
            .iter()
            .filter(|(variable, _)| variable.ends_with("_FILE"));
        for (variable, path) in files {
            looked_at += 1;
            let file = path
                .as_str()
                .and_then(|path| path.strip_prefix("/secrets/"));
            let file = file.unwrap_or_else(|| panic!("{name}: {variable} is {path}"));
            let there = if name == "auth-service" {
                &SECRETS[..]
            } else {
                &DATABASE_SECRETS
            };
            assert!(there.contains(&file), "{name} sees no {file}");
        }
    }
    assert_eq!(looked_at, 9);
}

#[test]
fn secret_volumes_belong_to_the_user_of_the_image() {
    let dockerfile = read("Dockerfile");
    assert!(dockerfile.contains("USER 65532:65532"));
    for folder in ["/secrets", "/database-secrets"] {
        let line = format!("COPY --from=build --chown=65532:65532 /folder {folder}\n");
        assert!(dockerfile.contains(&line), "a new {folder} is not writable");
    }
}

#[test]
fn containers_are_confined_and_have_time_to_stop() {
    for (name, service) in services(&compose()) {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(service["cap_drop"], json!(["ALL"]), "{name}");
        assert_eq!(
            service["security_opt"],
            json!(["no-new-privileges:true"]),
            "{name}"
        );
        assert_eq!(service["privileged"], Value::Null, "{name}");
        if ["auth-service", "posts-service", "gateway", "balancer"].contains(&name) {
            // The grace period is longer than the lame-duck time (2 s) and the drain (20 s) together.
            assert_eq!(service["stop_grace_period"], "30s", "{name}");
            assert!(service["mem_limit"].is_string(), "{name}");
        }
    }
}

#[test]
fn every_frontend_of_the_balancer_limits_the_connections_of_a_source() {
    let text = read("deploy/haproxy.cfg");
    let frontends: Vec<_> = text.split("\nfrontend ").skip(1).collect();
    assert_eq!(frontends.len(), 2);
    for frontend in frontends {
        let track = "tcp-request connection track-sc0 src,ipmask(32,64) table sources\n";
        let reject = "tcp-request connection reject if { sc0_conn_cur gt 1000 }\n";
        assert!(
            frontend.contains(track) && frontend.contains(reject),
            "{frontend}"
        );
    }
    assert!(text.contains("stick-table type ipv6 size 100k expire 2m store conn_cur\n"));
}

#[tokio::test]
async fn every_variable_is_a_valid_setting_of_its_program() {
    let compose = compose();
    let folder = tempfile::tempdir().expect("a folder");
    let mut looked_at = 0;
    for (name, service) in services(&compose) {
        let Some(program) = program(service) else {
            continue;
        };
        looked_at += 1;
        let help = Process::run(program, &["--help"], &BTreeMap::new(), folder.path(), "").await;
        let environment = service["environment"]
            .as_object()
            .cloned()
            .unwrap_or_default();
        for variable in environment.keys() {
            let is_setting = [format!("[env: {variable}="), format!("[env: {variable}]")];
            let is_setting = is_setting.iter().any(|text| help.stdout.contains(text));
            assert!(
                is_setting,
                "{name}: {variable} is no setting of {program:?}\n{}",
                help.stdout
            );
        }
        let settings: BTreeMap<String, String> = environment
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().expect("text").to_owned()))
            .chain([("OPS_LISTEN_ADDR".to_owned(), "127.0.0.1:1".to_owned())])
            .collect();
        // Nothing listens on the probed address, so the exit code is 1. An invalid setting would give 64.
        let exit = Process::run(program, &["healthcheck"], &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(1), "{name}: {exit:?}");
    }
    assert_eq!(looked_at, 6, "those that run our programs");
}

#[tokio::test]
async fn every_command_exists() {
    let compose = compose();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, service) in services(&compose) {
        let Some(program) = program(service) else {
            continue;
        };
        let command = service["command"].as_array().expect("exec form");
        let mut words: Vec<_> = command[1..]
            .iter()
            .map(|word| word.as_str().expect("text"))
            .collect();
        words.push("--help");
        let exit = Process::run(program, &words, &BTreeMap::new(), folder.path(), "").await;
        assert_eq!(exit.code, Some(0), "{name}: {exit:?}");
    }
}
