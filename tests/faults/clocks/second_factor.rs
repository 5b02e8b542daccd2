//! Tests one-time codes when the database's clock steps, because that clock decides which code is current.

use super::{Machine, bearer, fake_server_clock};
use e2e::{Process, SecondFactor, Store, TestDatabase, TestUser, for_both_stores, token::now};

for_both_stores!(
    a_code_is_good_once_however_the_clock_of_the_database_steps,
    after_a_clock_that_was_a_day_ahead_a_recovery_code_is_good,
);

const INVALID: &str = "Invalid one-time code.";

/// A number of seconds ahead of the true time, the setting of the machine's clock for SQLite, and the statement for
/// PostgreSQL.
#[derive(Clone, Copy)]
struct Ahead(u64, &'static str, &'static str);

const TRUE: Ahead = Ahead(0, "+0", "UPDATE fake.step SET seconds = 0");
const ONE_STEP: Ahead = Ahead(30, "+30", "UPDATE fake.step SET seconds = 30");
const THREE_STEPS: Ahead = Ahead(90, "+90", "UPDATE fake.step SET seconds = 90");
const DAY: Ahead = Ahead(86_400, "+86400", "UPDATE fake.step SET seconds = 86400");

/// A deployment that can be restarted with another clock of its database.
struct Clocked {
    store: Store,
    machine: Machine,
    process: Process,
    /// The database is the last field, so that it is dropped after the process that uses it.
    database: TestDatabase,
}

impl Clocked {
    async fn start(store: Store) -> Self {
        let database = TestDatabase::create(store).await;
        if store == Store::Postgres {
            fake_server_clock(&database).await;
        }
        let machine = Machine::new(&database, store, "+0");
        let process = machine.start().await;
        Self {
            store,
            machine,
            process,
            database,
        }
    }

    async fn restart(&mut self, Ahead(_, of_machine, of_server): Ahead) {
        self.process.kill().await;
        match self.store {
            Store::Postgres => self.database.execute(of_server).await,
            Store::Sqlite => {
                self.machine.step(of_machine);
                // After another boot, the clock in the file takes the time of the machine.
                let boot = "UPDATE clock SET boot = 'another', latest = 0";
                self.database.execute(boot).await;
            }
        }
        self.process = self.machine.start().await;
    }

    /// Logs in with this code and returns the status.
    async fn try_code(&self, user: &TestUser, code: &str) -> u16 {
        let response = user.try_code(&bearer(&self.process), code).await;
        if response.status == 401 {
            response.expect_detail(401, INVALID);
        }
        response.status
    }
}

fn code(factor: &SecondFactor, Ahead(seconds, ..): Ahead) -> String {
    factor.totp.at(now() + seconds)
}

async fn a_code_is_good_once_however_the_clock_of_the_database_steps(store: Store) {
    let mut app = Clocked::start(store).await;
    let ann = TestUser::register(&bearer(&app.process), "ann").await;
    let factor = ann.turn_on_second_factor(&bearer(&app.process)).await;
    app.restart(ONE_STEP).await;
    let before = code(&factor, TRUE);
    let used = code(&factor, ONE_STEP);
    assert_eq!(app.try_code(&ann, &used).await, 200);
    assert_eq!(app.try_code(&ann, &used).await, 401);
    // After the clock has stepped back, these are the codes of the next step and of now. Neither is newer than the used
    // one.
    for _ in 0..2 {
        app.restart(TRUE).await;
        for code in [&used, &before] {
            assert_eq!(app.try_code(&ann, code).await, 401);
        }
    }
    app.restart(THREE_STEPS).await;
    let last = code(&factor, THREE_STEPS);
    assert_eq!(app.try_code(&ann, &last).await, 200);
    app.restart(ONE_STEP).await;
    for code in [&last, &used, &before] {
        assert_eq!(app.try_code(&ann, code).await, 401);
    }
}

async fn after_a_clock_that_was_a_day_ahead_a_recovery_code_is_good(store: Store) {
    let mut app = Clocked::start(store).await;
    let ann = TestUser::register(&bearer(&app.process), "ann").await;
    let factor = ann.turn_on_second_factor(&bearer(&app.process)).await;
    app.restart(DAY).await;
    assert_eq!(app.try_code(&ann, &code(&factor, TRUE)).await, 401);
    assert_eq!(app.try_code(&ann, &code(&factor, DAY)).await, 200);
    for _ in 0..9 {
        assert_eq!(app.try_code(&ann, "nonsense").await, 401);
    }
    assert_eq!(app.try_code(&ann, "nonsense").await, 429);
    let full = "UPDATE second_factor
        SET wrong_recovery_codes = 100, wrong_recovery_since = wrong_since";
    app.database.execute(full).await;
    assert_eq!(app.try_code(&ann, &factor.recovery_codes[0]).await, 429);
    app.restart(TRUE).await;
    // Wrong codes that were counted by a clock a day ahead do not lock the user out now.
    assert_eq!(app.try_code(&ann, &factor.recovery_codes[0]).await, 200);
    for code in [code(&factor, TRUE), code(&factor, DAY)] {
        assert_eq!(app.try_code(&ann, &code).await, 401);
    }
}
