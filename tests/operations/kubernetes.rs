//! Compares `deploy/kubernetes` with `docker-compose.yml`: both have the same programs, settings, order and
//! confinement.

use crate::{
    compose_file::{compose, program},
    repository::path,
};
use e2e::Process;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
};

fn folder() -> PathBuf {
    path("deploy/kubernetes/base")
}

fn documents(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder().join(file)).expect("it is there");
    serde_saphyr::from_multiple(&text).expect("it is YAML")
}

/// Returns the files that `kustomization.yaml` lists, in its order.
fn files() -> Vec<String> {
    let kustomization = &documents("kustomization.yaml")[0];
    let files = kustomization["resources"]
        .as_array()
        .expect("a list")
        .iter();
    files
        .map(|file| file.as_str().expect("a file").to_owned())
        .collect()
}

/// Returns the names and objects of this kind, in the order of the files.
fn objects(kind: &str) -> Vec<(String, Value)> {
    let all = files().into_iter().flat_map(|file| documents(&file));
    let wanted = all.filter(|object| object["kind"] == kind);
    wanted
        .map(|it| {
            (
                it["metadata"]["name"].as_str().expect("a name").to_owned(),
                it,
            )
        })
        .collect()
}

/// Returns the jobs and deployments.
fn workloads() -> Vec<(String, Value)> {
    [objects("Job"), objects("Deployment")].concat()
}

/// Returns the file of settings of each generated `ConfigMap`, by name.
fn setting_files() -> BTreeMap<String, String> {
    let kustomization = &documents("kustomization.yaml")[0];
    let generators = kustomization["configMapGenerator"]
        .as_array()
        .expect("a list")
        .iter();
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    generators
        .map(|it| (text(&it["name"]), text(&it["envs"][0])))
        .collect()
}

/// Returns the settings of a workload, read from its `ConfigMap`.
fn settings(workload: &Value) -> BTreeMap<String, String> {
    let container = &workload["spec"]["template"]["spec"]["containers"][0];
    assert_eq!(
        container["env"],
        Value::Null,
        "settings are in the ConfigMap"
    );
    let name = container["envFrom"][0]["configMapRef"]["name"]
        .as_str()
        .expect("a ConfigMap");
    let file = folder().join(&setting_files()[name]);
    let text = fs::read_to_string(file).expect("it is there");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let settings = lines.map(|line| line.split_once('=').expect("a setting"));
    settings
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

#[test]
fn every_file_is_applied() {
    let entries = fs::read_dir(folder()).expect("a folder");
    let names = entries.map(|entry| entry.expect("an entry").file_name().into_string());
    let there: BTreeSet<_> = names
        .map(|name| name.expect("a text"))
        .filter(|name| name != "kustomization.yaml")
        .collect();
    let applied: BTreeSet<_> = files()
        .into_iter()
        .chain(setting_files().into_values())
        .collect();
    assert_eq!(applied, there);
}

#[test]
fn workloads_are_those_of_compose_in_its_order() {
    let compose = compose();
    let services = compose["services"].as_object().expect("services");
    // Kubernetes has no such services: secrets are created before, and the cluster provides PostgreSQL and the load
    // balancer.
    let elsewhere = ["init-secrets", "postgres", "balancer"];
    let wanted: BTreeSet<_> = services
        .keys()
        .filter(|name| !elsewhere.contains(&name.as_str()))
        .cloned()
        .collect();
    let order: Vec<String> = workloads().into_iter().map(|(name, _)| name).collect();
    assert_eq!(order.iter().cloned().collect::<BTreeSet<_>>(), wanted);
    let position = |name: &str| order.iter().position(|other| other == name);
    for (name, workload) in workloads() {
        let service = &services[&name];
        let container = &workload["spec"]["template"]["spec"]["containers"][0];
        assert_eq!(container["args"], service["command"], "{name}");
        assert_eq!(container["image"], service["image"], "{name}");
        let dependencies = service["depends_on"].as_object().expect("dependencies");
        for before in dependencies
            .keys()
            .filter(|before| wanted.contains(*before))
        {
            assert!(
                position(before) < position(&name),
                "{name} comes before {before}"
            );
        }
    }
}

#[tokio::test]
async fn settings_are_those_of_compose_and_valid() {
    // These settings may differ, because networks differ and a cluster needs more time to notice a shutdown.
    let networks = [
        "AUTH_LISTEN_ADDR",
        "POSTS_LISTEN_ADDR",
        "TRUSTED_GATEWAYS",
        "TRUSTED_PROXIES",
    ];
    let compose = compose();
    let folder = tempfile::tempdir().expect("a folder");
    for (name, workload) in workloads() {
        let service = &compose["services"][&name];
        let wanted: BTreeMap<String, String> =
            serde_json::from_value(service["environment"].clone()).expect("texts by name");
        let mut settings = settings(&workload);
        if workload["kind"] == "Deployment" {
            let removed = settings.remove("LAME_DUCK_SECONDS");
            assert!(
                removed.is_some(),
                "{name} has time until nodes know that it stops"
            );
        }
        assert!(settings.keys().eq(wanted.keys()), "{name}: {settings:?}");
        for (setting, value) in &settings {
            let is_same = networks.contains(&setting.as_str()) || *value == wanted[setting];
            assert!(is_same, "{name}: {setting} is {value}");
        }
        settings.insert("OPS_LISTEN_ADDR".to_owned(), "127.0.0.1:1".to_owned());
        let program = program(service).expect("one of ours");
        // Nothing listens there, which is exit 1; an invalid setting would be 64.
        let exit = Process::run(program, &["healthcheck"], &settings, folder.path(), "").await;
        assert_eq!(exit.code, Some(1), "{name}: {exit:?}");
    }
}

#[test]
fn ports_are_those_of_the_settings() {
    for (name, deployment) in objects("Deployment") {
        let pod = &deployment["spec"]["template"]["spec"];
        let listeners = settings(&deployment)
            .into_iter()
            .filter(|(it, _)| it.ends_with("_ADDR"));
        let port = |address: String| {
            address
                .rsplit(':')
                .next()
                .and_then(|port| port.parse().ok())
        };
        let wanted: BTreeSet<u64> = listeners.filter_map(|(_, address)| port(address)).collect();
        let ports = pod["containers"][0]["ports"]
            .as_array()
            .expect("ports")
            .iter();
        let ports: BTreeSet<u64> = ports
            .filter_map(|it| it["containerPort"].as_u64())
            .collect();
        assert_eq!(ports, wanted, "{name}");
    }
    let deployments: BTreeMap<_, _> = objects("Deployment").into_iter().collect();
    for (name, service) in objects("Service") {
        let selector = &service["spec"]["selector"];
        let deployment = &deployments[selector["app"].as_str().expect("a label")];
        assert_eq!(
            deployment["spec"]["template"]["metadata"]["labels"], *selector,
            "{name}"
        );
        assert_eq!(
            deployment["spec"]["selector"]["matchLabels"], *selector,
            "{name}"
        );
        // gRPC clients must see all replicas, so these services are headless. The URLs are checked with the settings.
        let headless = service["spec"]["clusterIP"] == "None";
        assert_eq!(headless, name.ends_with("-grpc"), "{name}");
    }
}

#[test]
fn pods_are_confined_as_in_compose() {
    let compose = compose();
    let seconds = |value: &Value| value.as_u64().expect("seconds");
    for (name, workload) in workloads() {
        let pod = &workload["spec"]["template"]["spec"];
        let container = &pod["containers"][0];
        let security = &container["securityContext"];
        assert_eq!(security["readOnlyRootFilesystem"], true, "{name}");
        assert_eq!(security["allowPrivilegeEscalation"], false, "{name}");
        assert_eq!(
            security["capabilities"],
            json!({ "drop": ["ALL"] }),
            "{name}"
        );
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{name}");
        assert_eq!(pod["securityContext"]["runAsUser"], 65532, "{name}");
        assert_eq!(pod["automountServiceAccountToken"], false, "{name}");
        // Only auth-service mounts the signing secret.
        let secret = &pod["volumes"][0]["secret"]["secretName"];
        let wanted = match name.as_str() {
            "auth-service" => json!("auth-secrets"),
            "gateway" => Value::Null,
            _ => json!("database-secrets"),
        };
        assert_eq!(*secret, wanted, "{name}");
        if workload["kind"] != "Deployment" {
            continue;
        }
        let limit = compose["services"][&name]["mem_limit"]
            .as_str()
            .expect("a limit");
        let limit = limit.replace('m', "Mi");
        assert_eq!(container["resources"]["limits"]["memory"], limit, "{name}");
        let lame_duck: u64 = settings(&workload)["LAME_DUCK_SECONDS"]
            .parse()
            .expect("seconds");
        let before = seconds(&container["lifecycle"]["preStop"]["sleep"]["seconds"]);
        let grace = seconds(&pod["terminationGracePeriodSeconds"]);
        assert!(
            grace >= before + lame_duck + 25,
            "{name} is killed before it is drained"
        );
        let probe = &container["readinessProbe"];
        let noticed = seconds(&probe["periodSeconds"]) * seconds(&probe["failureThreshold"]);
        assert!(
            noticed < lame_duck,
            "{name} gets requests after its lame-duck time"
        );
        let [start, live] = ["startupProbe", "livenessProbe"].map(|it| &container[it]);
        assert_eq!(start["httpGet"], live["httpGet"], "{name}");
        let starts = seconds(&start["periodSeconds"]) * seconds(&start["failureThreshold"]);
        assert!(
            starts >= 60,
            "{name} is restarted while it starts on a slow node"
        );
        let budget = objects("PodDisruptionBudget")
            .into_iter()
            .find(|(other, _)| *other == name);
        let (_, budget) = budget.unwrap_or_else(|| panic!("{name} has no budget"));
        let labels = &workload["spec"]["template"]["metadata"]["labels"];
        assert_eq!(budget["spec"]["selector"]["matchLabels"], *labels, "{name}");
    }
}

#[test]
fn every_secret_file_is_in_the_secret_of_its_program() {
    let generators = &documents("../kustomization.yaml")[0]["secretGenerator"];
    let mut looked_at = 0;
    for (name, workload) in workloads() {
        let secret = &workload["spec"]["template"]["spec"]["volumes"][0]["secret"]["secretName"];
        let mut all = generators.as_array().expect("a list").iter();
        let files = all
            .find(|it| it["name"] == *secret)
            .map(|it| it["files"].clone());
        for path in settings(&workload)
            .into_values()
            .filter(|value| value.starts_with('/'))
        {
            looked_at += 1;
            let file = json!(path.trim_start_matches('/'));
            let files = files
                .as_ref()
                .and_then(Value::as_array)
                .expect("the secret exists");
            assert!(files.contains(&file), "{name} sees no {file}");
        }
    }
    assert_eq!(looked_at, 8);
}

#[test]
fn policies_let_those_call_who_share_a_network_in_compose() {
    let names = |selector: &Value| -> Vec<String> {
        serde_json::from_value(selector["matchExpressions"][0]["values"].clone()).expect("names")
    };
    let policies: BTreeMap<_, _> = objects("NetworkPolicy").into_iter().collect();
    assert_eq!(policies["deny"]["spec"]["podSelector"], json!({}));
    assert_eq!(
        policies["deny"]["spec"]["policyTypes"],
        json!(["Ingress", "Egress"])
    );
    let compose = compose();
    let is_on = |service: &str, network: &str| {
        let networks = &compose["services"][service]["networks"];
        let is_listed = networks
            .as_array()
            .is_some_and(|list| list.contains(&json!(network)));
        is_listed || networks.get(network).is_some()
    };
    let on = |network: &str| -> BTreeSet<String> {
        let all = workloads().into_iter().map(|(name, _)| name);
        all.filter(|name| is_on(name, network)).collect()
    };
    let with_database = names(&policies["database"]["spec"]["podSelector"]);
    assert_eq!(
        with_database.into_iter().collect::<BTreeSet<_>>(),
        on("database")
    );
    let with_metrics = names(&policies["metrics"]["spec"]["podSelector"]);
    assert_eq!(
        with_metrics.into_iter().collect::<BTreeSet<_>>(),
        on("metrics")
    );
    // The callers of a service are the workloads whose settings contain its URL.
    for (name, port) in [("auth-service", 50051), ("posts-service", 50052)] {
        let ingress = &policies[name]["spec"]["ingress"][0];
        assert_eq!(ingress["ports"], json!([{ "port": port }]), "{name}");
        let callers: BTreeSet<_> = names(&ingress["from"][0]["podSelector"])
            .into_iter()
            .collect();
        let url = format!(":{port}");
        let wanted: BTreeSet<_> = objects("Deployment")
            .into_iter()
            .filter(|(_, it)| {
                let settings = settings(it);
                let mut urls = settings
                    .iter()
                    .filter(|(name, _)| name.ends_with("_SERVICE_URL"));
                urls.any(|(_, value)| value.ends_with(&url))
            })
            .map(|(name, _)| name)
            .collect();
        assert_eq!(callers, wanted, "{name}");
        assert!(callers.is_subset(&on("auth")), "{name}");
        for caller in callers {
            let egress = policies[&caller]["spec"]["egress"][0].clone();
            assert!(
                names(&egress["to"][0]["podSelector"]).contains(&name.to_owned()),
                "{caller}"
            );
            let ports = egress["ports"].as_array().expect("ports");
            assert!(ports.contains(&json!({ "port": port })), "{caller}");
        }
    }
}
