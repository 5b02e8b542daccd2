//! Tests the keys that encrypt second factors: a missing key, its replacement, and a generated one.

use e2e::{
    ADMIN_PASSWORD, Api, Process, Program, SECOND_FACTOR_KEY, SecondFactor, Store, TestDatabase,
    TestSetup, TestUser, for_both_stores, second_factor::PATH,
};
use serde_json::json;
use std::{collections::BTreeMap, fs, os::unix::fs::PermissionsExt as _};
use tempfile::TempDir;

for_both_stores!(
    without_a_key_a_service_starts_and_nobody_can_begin_a_second_factor,
    second_factors_are_switched_off_once_the_operator_removed_them,
    a_key_is_replaced_replica_by_replica_and_each_code_seals_anew,
    rolegate_keeps_a_generated_key_across_restarts,
);

const KEY: &str = "SECOND_FACTOR_KEY";
const ACCEPTED: &str = "SECOND_FACTOR_KEYS_ACCEPTED";
const NEW_KEY: &str = "the next key of second factors has more than 32 bytes";

/// One database, on which processes start with different settings.
struct Stage {
    store: Store,
    folder: TempDir,
    database: TestDatabase,
}

impl Stage {
    async fn new(store: Store) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self {
            store,
            folder,
            database: TestDatabase::create(store).await,
        }
    }

    /// Returns settings in which these replace all settings of second factors.
    fn settings(&self, setup: &TestSetup, with: &[(&str, &str)]) -> BTreeMap<String, String> {
        let mut settings = setup.auth_settings(&self.database.url());
        settings.remove(KEY);
        settings.extend(
            with.iter()
                .map(|(name, value)| ((*name).into(), (*value).into())),
        );
        settings
    }

    /// Starts `rolegate` with these settings.
    async fn start(&self, with: &[(&str, &str)]) -> Process {
        let setup = TestSetup::all_in_one(self.store);
        let settings = self.settings(&setup, with);
        Process::start(setup.auth_program(), &settings, self.folder.path())
            .ready()
            .await
    }

    /// Asserts that `rolegate` does not start with these settings, because a key is missing.
    async fn expect_refused(&self, with: &[(&str, &str)]) {
        let setup = TestSetup::all_in_one(self.store);
        let settings = self.settings(&setup, with);
        let process = Process::start(setup.auth_program(), &settings, self.folder.path());
        let exit = process.ready_or_ended().await;
        let exit = exit.unwrap_or_else(|| panic!("it started with {with:?}"));
        assert_eq!(
            (exit.code, exit.stdout.as_str()),
            (Some(64), ""),
            "{with:?}: {exit:?}"
        );
        assert!(
            exit.stderr.contains("SECOND_FACTOR_KEY: "),
            "{with:?}: {exit:?}"
        );
    }

    /// Registers a user and turns the second factor on.
    async fn enrol(&self, process: &Process, username: &str) -> (TestUser, SecondFactor) {
        let bearer = bearer(process);
        let user = TestUser::register(&bearer, username).await;
        let factor = user.turn_on_second_factor(&bearer).await;
        (user, factor)
    }

    /// Logs in with the current code.
    async fn log_in(&self, process: &Process, (user, factor): &(TestUser, SecondFactor)) {
        self.database.forget_codes().await;
        user.log_in_with_code(&bearer(process), &factor.code())
            .await;
    }
}

fn bearer(process: &Process) -> Api {
    Api::at(&process.address("bearer"))
}

async fn without_a_key_a_service_starts_and_nobody_can_begin_a_second_factor(store: Store) {
    let stage = Stage::new(store).await;
    let setup = TestSetup::split(store);
    let folder = stage.folder.path();
    // auth-service has no key, or has one while second factors are off.
    for with in [
        &[][..],
        &[(KEY, SECOND_FACTOR_KEY), ("SECOND_FACTOR", "off")],
    ] {
        let settings = stage.settings(&setup, with);
        let auth = Process::start(setup.auth_program(), &settings, folder)
            .ready()
            .await;
        let settings = setup.gateway_settings(auth.socket_address("grpc"), None);
        let gateway = Process::start(Program::Gateway, &settings, folder)
            .ready()
            .await;
        let bearer = bearer(&gateway);
        let admin = TestUser::log_in(&bearer, "admin", ADMIN_PASSWORD).await;
        let own = bearer.with_token(&admin.token);
        for refused in [
            own.post(PATH, &json!({ "current_password": ADMIN_PASSWORD }))
                .await,
            own.put(PATH, &json!({ "otp": "123456" })).await,
        ] {
            refused.expect_detail(400, "Second factors are not available.");
            refused.expect_header("rolegate-reason", Some("SECOND_FACTOR_UNAVAILABLE"));
        }
        own.get(PATH)
            .await
            .expect_json(200, &json!({ "enabled": false, "recovery_codes": 0 }));
        admin.try_code(&bearer, "123456").await.expect(200);
    }
}

async fn second_factors_are_switched_off_once_the_operator_removed_them(store: Store) {
    let stage = Stage::new(store).await;
    let off = [(KEY, SECOND_FACTOR_KEY), ("SECOND_FACTOR", "off")];
    let mut process = stage.start(&off[..1]).await;
    let (ann, _) = stage.enrol(&process, "ann").await;
    process.kill().await;
    let settings = stage.settings(&TestSetup::split(store), &[]);
    let arguments = ["user", "remove-second-factor", "ann"];
    let program = Program::FastHashAuthService;
    let exit = Process::run(program, &arguments, &settings, stage.folder.path(), "").await;
    assert_eq!(exit.code, Some(0), "{exit:?}");
    process = stage.start(&off).await;
    TestUser::log_in(&bearer(&process), "ann", &ann.password).await;
}

async fn a_key_is_replaced_replica_by_replica_and_each_code_seals_anew(store: Store) {
    let stage = Stage::new(store).await;
    let steps = [
        vec![(KEY, SECOND_FACTOR_KEY)],
        vec![(KEY, SECOND_FACTOR_KEY), (ACCEPTED, NEW_KEY)],
        vec![(KEY, NEW_KEY), (ACCEPTED, SECOND_FACTOR_KEY)],
    ];
    let mut replicas = [stage.start(&steps[0]).await, stage.start(&steps[0]).await];
    let mut users = vec![stage.enrol(&replicas[0], "ann").await];
    // This user does not log in during the rotation.
    let eve = stage.enrol(&replicas[1], "eve").await;
    for (step, with) in steps.iter().enumerate().skip(1) {
        // The users log in when one replica has the new settings, and again when both have them.
        for index in 0..2 {
            replicas[index].kill().await;
            replicas[index] = stage.start(with).await;
            let name = format!("user {step} {index}");
            users.push(stage.enrol(&replicas[index], &name).await);
            for user in &users {
                for replica in &replicas {
                    stage.log_in(replica, user).await;
                }
            }
        }
    }
    for replica in &mut replicas {
        replica.kill().await;
    }
    let new = [(KEY, NEW_KEY)];
    stage.expect_refused(&new).await;
    let process = stage.start(&steps[2]).await;
    stage.log_in(&process, &eve).await;
    drop(process);
    // No second factor needs the old key any more.
    let process = stage.start(&new).await;
    for user in users.iter().chain([&eve]) {
        stage.log_in(&process, user).await;
    }
}

async fn rolegate_keeps_a_generated_key_across_restarts(store: Store) {
    let stage = Stage::new(store).await;
    let mut process = stage.start(&[]).await;
    let ann = stage.enrol(&process, "ann").await;
    process.kill().await;
    let file = stage.folder.path().join("data/second-factor-key");
    let key = fs::read_to_string(&file).expect("the key");
    assert!(key.trim_end().len() >= 32);
    let mode = fs::metadata(&file).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    process = stage.start(&[]).await;
    stage.log_in(&process, &ann).await;
    assert_eq!(fs::read_to_string(&file).expect("the key"), key);
    assert!(!(process.stdout() + &process.stderr()).contains(key.trim_end()));
    process.kill().await;
    // The generated key can also be given as a setting.
    process = stage.start(&[(KEY, key.trim_end())]).await;
    stage.log_in(&process, &ann).await;
}
