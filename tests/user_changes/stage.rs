//! Two replicas on one database, which are killed and started again.

use crate::scenario::Scenario;
use e2e::{
    ADMIN_PASSWORD, Api, Exit, Process, Program, TcpProxy, TestSetup, TestUser, until_served,
};
use serde_json::json;
use std::collections::BTreeMap;
use tempfile::TempDir;
use tokio::sync::Mutex;

/// How many restarts the short form has, at equal distances of acknowledged changes.
const RESTARTS: usize = 6;
/// The long form has one restart for this many changes.
const CHANGES_OF_RESTART: usize = 1000;

/// An auth-service, and a gateway that calls it.
struct Replica {
    /// The process; `None` only while it restarts.
    auth: Mutex<Option<Process>>,
    /// The proxy to auth-service, which keeps its address when auth-service restarts.
    proxy: TcpProxy,
    gateway: Process,
}

pub(crate) struct Stage {
    setup: TestSetup,
    settings: BTreeMap<String, String>,
    replicas: [Replica; 2],
    folder: TempDir,
}

impl Replica {
    async fn start(
        setup: &TestSetup,
        settings: &BTreeMap<String, String>,
        folder: &TempDir,
    ) -> Self {
        let auth = Process::start(setup.auth_program(), settings, folder.path())
            .ready()
            .await;
        let proxy = TcpProxy::to(auth.socket_address("grpc"));
        let settings = setup.gateway_settings(proxy.address(), None);
        let gateway = Process::start(Program::Gateway, &settings, folder.path())
            .ready()
            .await;
        Self {
            auth: Mutex::new(Some(auth)),
            proxy,
            gateway,
        }
    }
}

impl Stage {
    pub(crate) async fn start(setup: TestSetup, database_url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = setup.auth_settings(database_url);
        let first = Replica::start(&setup, &settings, &folder).await;
        let replicas = [first, Replica::start(&setup, &settings, &folder).await];
        Self {
            setup,
            settings,
            replicas,
            folder,
        }
    }

    /// Returns clients of both gateways.
    pub(crate) fn apis(&self) -> [Api; 2] {
        self.replicas
            .each_ref()
            .map(|replica| Api::at(&replica.gateway.address("bearer")))
    }

    /// Returns the gRPC addresses of both auth-services. They stay the same after restarts.
    pub(crate) fn auth_addresses(&self) -> [String; 2] {
        self.replicas
            .each_ref()
            .map(|replica| format!("http://{}", replica.proxy.address()))
    }

    /// Logs in the first admin.
    pub(crate) async fn admin(&self) -> TestUser {
        let [api, _] = self.apis();
        let admin = json!({ "username": "admin", "password": ADMIN_PASSWORD });
        // The replica may have been started just now.
        let login = until_served(|| api.post("/login", &admin)).await;
        TestUser::of_login(&login, "admin", ADMIN_PASSWORD)
    }

    /// Runs a command of the operator.
    pub(crate) async fn command(&self, arguments: &[&str]) -> Exit {
        let program = self.setup.auth_program();
        Process::run(program, arguments, &self.settings, self.folder.path(), "").await
    }

    /// Restarts the replicas in turns whenever the scenario has made some more changes, until it
    /// has made `wanted`. Every third restart is a regular shutdown, the others are kills. Returns
    /// the number of restarts.
    pub(crate) async fn restart_replicas(&self, scenario: &Scenario, wanted: usize) -> usize {
        let restarts = RESTARTS.max(wanted / CHANGES_OF_RESTART);
        for number in 1..=restarts {
            scenario.reach(number * wanted / (restarts + 1)).await;
            self.restart(number % 2, number % 3 == 0).await;
        }
        restarts
    }

    async fn restart(&self, index: usize, in_order: bool) {
        let Replica { auth, proxy, .. } = &self.replicas[index];
        let mut auth = auth.lock().await;
        let mut old = auth.take().expect("nobody else restarts it");
        if in_order {
            old.terminate();
            let exit = old.exit().await;
            assert_eq!(exit.code, Some(0), "{exit:?}");
        } else {
            old.kill().await;
        }
        let (program, folder) = (self.setup.auth_program(), self.folder.path());
        let new = Process::start(program, &self.settings, folder)
            .ready()
            .await;
        proxy.retarget(new.socket_address("grpc"));
        *auth = Some(new);
    }
}
