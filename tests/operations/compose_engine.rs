//! Checks what docker-compose.yml, the Dockerfile and deploy/haproxy.cfg tell the container engine: restarts, bounded
//! logs and networks.

use crate::repository::read;
use serde_json::{Value, json};

const SERVICES: [&str; 4] = ["auth-service", "posts-service", "gateway", "balancer"];

fn compose() -> Value {
    serde_saphyr::from_str(&read("docker-compose.yml")).expect("it is YAML")
}

#[test]
fn service_that_got_a_sighup_by_hand_restarts_after_a_crash() {
    let compose = compose();
    for name in SERVICES.into_iter().chain(["postgres"]) {
        let service = &compose["services"][name];
        // The engine takes a container without a stop signal of its own for one that was stopped by hand, and
        // `unless-stopped` would leave it down.
        assert_eq!(service["restart"], "always", "{name}");
        assert!(service["stop_signal"].is_string(), "{name}");
        assert_ne!(service["stop_signal"], "SIGHUP", "{name}");
    }
}

#[test]
fn logs_and_processes_of_every_container_are_bounded() {
    let compose = compose();
    for (name, service) in compose["services"].as_object().expect("services") {
        let logging = &service["logging"];
        assert_eq!(logging["driver"], "json-file", "{name}");
        assert_eq!(
            logging["options"],
            json!({ "max-size": "10m", "max-file": "3" }),
            "{name}"
        );
        assert_eq!(service["pids_limit"], 256, "{name}");
    }
}

#[test]
fn first_health_checks_come_soon() {
    let compose = compose();
    for name in ["postgres", "auth-service", "posts-service", "gateway"] {
        let check = &compose["services"][name]["healthcheck"];
        assert_eq!(check["start_interval"], "500ms", "{name}");
        assert!(
            check["start_period"].is_string(),
            "{name}: start_interval counts only then"
        );
    }
    assert!(read("docker-compose.yml").contains("Docker Engine 25 and Compose v2.20.2"));
}

#[test]
fn grpc_is_bound_to_its_own_network_and_trusts_no_other() {
    let compose = compose();
    let subnet = |network: &str| {
        let subnet = &compose["networks"][network]["ipam"]["config"][0]["subnet"];
        subnet.as_str().expect("a subnet").to_owned()
    };
    let (services, auth) = (&compose["services"], subnet("auth"));
    let settings = |name: &str| &services[name]["environment"];
    assert_eq!(
        settings("auth-service")["AUTH_LISTEN_ADDR"],
        format!("{auth}:50051")
    );
    assert_eq!(
        settings("posts-service")["POSTS_LISTEN_ADDR"],
        format!("{auth}:50052")
    );
    for name in ["auth-service", "posts-service"] {
        assert_eq!(settings(name)["TRUSTED_GATEWAYS"], auth, "{name}");
    }
    assert_eq!(settings("gateway")["TRUSTED_PROXIES"], subnet("gateways"));
    // Callers use a host name that exists on this network only.
    for (name, alias) in [
        ("auth-service", "auth-grpc"),
        ("posts-service", "posts-grpc"),
    ] {
        assert_eq!(
            services[name]["networks"]["auth"],
            json!({ "aliases": [alias] })
        );
        let url = format!("http://{alias}:");
        let variable = if alias == "auth-grpc" {
            "AUTH_SERVICE_URL"
        } else {
            "POSTS_SERVICE_URL"
        };
        let text = settings("gateway")[variable].as_str().expect("a URL");
        assert!(text.starts_with(&url), "{text}");
    }
}

#[test]
fn metrics_are_served_where_the_document_says() {
    let (compose, document) = (compose(), read("docs/metrics.md"));
    for (name, port) in [
        ("gateway", 9000),
        ("auth-service", 9001),
        ("posts-service", 9002),
    ] {
        let address = &compose["services"][name]["environment"]["OPS_LISTEN_ADDR"];
        assert_eq!(*address, format!("0.0.0.0:{port}"), "{name}");
        assert!(document.contains(&format!("\"{name}:{port}\"")), "{name}");
    }
}

#[test]
fn lost_secrets_are_noticed_before_others_are_made() {
    let init = &compose()["services"]["init-secrets"];
    let command = init["command"].as_array().expect("exec form");
    assert!(
        command.contains(&json!("--database-directory=/database")),
        "{command:?}"
    );
    assert!(
        command.contains(&json!("--accepted-secrets")),
        "{command:?}"
    );
    let volumes = init["volumes"].as_array().expect("volumes");
    assert!(
        volumes.contains(&json!("database:/database:ro,nocopy")),
        "{volumes:?}"
    );
}

#[test]
fn image_is_made_of_supported_releases_of_one_debian() {
    let dockerfile = read("Dockerfile");
    assert!(dockerfile.contains("-slim-trixie AS chef"), "{dockerfile}");
    assert!(
        dockerfile.contains("/distroless/cc-debian13:nonroot"),
        "{dockerfile}"
    );
}

#[test]
fn balancer_logs_what_fails_without_queries_and_limits_each_source() {
    let configuration = read("deploy/haproxy.cfg");
    let directives: Vec<_> = configuration.lines().map(str::trim).collect();
    assert!(directives.contains(&"option dontlog-normal"));
    let format = directives
        .iter()
        .find(|line| line.starts_with("log-format "))
        .expect("a format");
    // The log format has the status, the method, and the path without the query.
    for field in ["%ST", "%HM", "%HPO"] {
        assert!(format.contains(field), "{format}");
    }
    assert!(!format.contains("%r") || format.contains("%rc"), "{format}");
    let frontends = configuration.split("\nfrontend ").skip(1);
    for frontend in frontends {
        assert!(frontend.contains("tcp-request connection reject if { sc0_conn_cur gt "));
    }
}
