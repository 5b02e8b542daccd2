//! One instance after the other is replaced, behind a balancer that watches `/readyz`: no request
//! is lost.

use e2e::{
    Api, Process, TcpProxy, TestSetup, eventually, for_all_deployments, for_split_deployments,
};
use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
};
use tokio::task::JoinHandle;

for_all_deployments!(replacing_the_gateway_fails_no_request);
for_split_deployments!(replacing_auth_service_fails_no_request);

/// Clients who ask one thing after the other until they are told to stop.
struct Clients {
    stop: Arc<AtomicBool>,
    answered: Arc<AtomicU32>,
    asking: Vec<JoinHandle<()>>,
}

impl Clients {
    fn of(api: &Api) -> Self {
        let (stop, answered) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU32::new(0)));
        let asking = (0..8)
            .map(|_| {
                let (api, stop, answered) = (api.clone(), Arc::clone(&stop), Arc::clone(&answered));
                tokio::spawn(async move {
                    while !stop.load(Relaxed) {
                        api.get("/admin").await.expect_message("Welcome Admin!");
                        answered.fetch_add(1, Relaxed);
                    }
                })
            })
            .collect();
        Self { stop, answered, asking }
    }

    async fn are_answered(&self) {
        let before = self.answered.load(Relaxed);
        eventually("more responses", async || {
            let failed = self.asking.iter().any(JoinHandle::is_finished);
            (failed || self.answered.load(Relaxed) > before + 50).then_some(())
        })
        .await;
    }

    async fn all_were_answered(self) {
        self.stop.store(true, Relaxed);
        for asking in self.asking {
            asking.await.expect("every request was answered with success");
        }
    }
}

/// What a balancer and an orchestrator do together.
async fn replace(old: Process, new: &Process, way: &TcpProxy, listener: &str) {
    let ready = async |process: &Process, status: u16| {
        let ops = Api::at(&process.address("ops"));
        eventually("readiness", async || (ops.get("/readyz").await.status == status).then_some(()))
            .await;
    };
    ready(new, 200).await;
    old.terminate();
    ready(&old, 503).await;
    way.retarget(new.socket_address(listener));
    let exit = old.exit().await;
    assert_eq!(exit.code, Some(0), "{}", exit.stderr);
}

async fn replacing_the_gateway_fails_no_request(setup: TestSetup) {
    let mut app = setup.with("LAME_DUCK_SECONDS", "2").start().await;
    let admin = app.admin().await;
    let way = TcpProxy::to(app.gateway().socket_address("bearer"));
    let base = format!("http://{}", way.address());
    let clients = Clients::of(&Api::at(&base).with_token(&admin.token));
    clients.are_answered().await;
    let old = app.start_second_gateway().await;
    replace(old, app.gateway(), &way, "bearer").await;
    clients.are_answered().await;
    clients.all_were_answered().await;
}

async fn replacing_auth_service_fails_no_request(setup: TestSetup) {
    let mut app = setup.with("LAME_DUCK_SECONDS", "2").start().await;
    let admin = app.admin().await;
    let clients = Clients::of(&app.bearer.with_token(&admin.token));
    clients.are_answered().await;
    let old = app.start_second_auth().await;
    let (new, way) = app.auth_and_proxy();
    replace(old, new, way, "grpc").await;
    clients.are_answered().await;
    clients.all_were_answered().await;
}
