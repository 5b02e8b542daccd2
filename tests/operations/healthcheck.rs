//! Checks that `healthcheck` of each program turns its own `/readyz` into an exit code.

use e2e::{Exit, Process, Program, TestSetup, for_two_deployments};
use std::collections::BTreeMap;

for_two_deployments!(healthcheck_follows_readiness);

const PROGRAMS: [Program; 4] = [
    Program::AuthService,
    Program::PostsService,
    Program::Gateway,
    Program::Rolegate,
];

async fn ask(program: Program, address: &str) -> Exit {
    let settings = BTreeMap::from([("OPS_LISTEN_ADDR".to_owned(), address.to_owned())]);
    let folder = tempfile::tempdir().expect("a folder");
    Process::run(program, &["healthcheck"], &settings, folder.path(), "").await
}

async fn healthcheck_follows_readiness(setup: TestSetup) {
    let program = if setup.is_all_in_one() {
        Program::Rolegate
    } else {
        Program::Gateway
    };
    let app = setup.with("LAME_DUCK_SECONDS", "300").start().await;
    let front = app.gateway();
    let address = front.socket_address("ops");
    front.wait_for_readiness(200).await;
    // In a container, the address is 0.0.0.0.
    for address in [address.to_string(), format!("0.0.0.0:{}", address.port())] {
        let exit = ask(program, &address).await;
        assert_eq!(
            (exit.code, exit.stdout.as_str()),
            (Some(0), "ready\n"),
            "{address}: {exit:?}"
        );
    }
    if program == Program::Gateway {
        for (program, process) in [
            (Program::AuthService, app.auth()),
            (Program::PostsService, app.posts()),
        ] {
            process.wait_for_readiness(200).await;
            let address = process.socket_address("ops").to_string();
            assert_eq!(ask(program, &address).await.code, Some(0), "{program:?}");
        }
    }
    front.terminate();
    front.wait_for_readiness(503).await;
    let exit = ask(program, &address.to_string()).await;
    assert_eq!(
        (exit.code, exit.stderr.as_str()),
        (Some(1), "not ready: stopping\n"),
        "{exit:?}"
    );
}

#[tokio::test]
async fn healthcheck_fails_where_nothing_listens() {
    // Nothing listens on a port that was just released.
    let free = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = free.local_addr().expect("bound").to_string();
    drop(free);
    for program in PROGRAMS {
        let exit = ask(program, &address).await;
        assert_eq!(exit.code, Some(1), "{exit:?}");
        let said = format!("http://{address}/readyz does not answer: ");
        assert!(exit.stderr.starts_with(&said), "{exit:?}");
        assert_eq!(exit.stderr.lines().count(), 1, "{exit:?}");
    }
}

#[tokio::test]
async fn healthcheck_rejects_port_0() {
    for program in PROGRAMS {
        let exit = ask(program, "127.0.0.1:0").await;
        assert_eq!(exit.code, Some(64), "{exit:?}");
        assert!(
            exit.stderr.starts_with("OPS_LISTEN_ADDR: is port 0"),
            "{exit:?}"
        );
    }
}
