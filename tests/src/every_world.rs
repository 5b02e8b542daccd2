//! One case, a named test for each world. The cases stay ordinary functions; one that is not listed
//! is dead code, which clippy refuses.

/// Makes four tests of each `async fn(Plan)`, such as
/// `register::a_taken_name_is_refused::on_postgres_in_two_processes`.
#[macro_export]
macro_rules! in_every_world {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use $crate::{Plan, Store};

            #[tokio::test]
            async fn on_postgres_in_one_process() {
                super::$case(Plan::in_one_process(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn on_postgres_in_two_processes() {
                super::$case(Plan::in_two_processes(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn on_sqlite_in_one_process() {
                super::$case(Plan::in_one_process(Store::Sqlite)).await;
            }

            #[tokio::test]
            async fn on_sqlite_in_two_processes() {
                super::$case(Plan::in_two_processes(Store::Sqlite)).await;
            }
        }
    )+};
}

/// Makes two tests of each `async fn(Plan)`: on both stores, in two processes; for what has no
/// meaning in one.
#[macro_export]
macro_rules! in_two_processes {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use $crate::{Plan, Store};

            #[tokio::test]
            async fn on_postgres() {
                super::$case(Plan::in_two_processes(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                super::$case(Plan::in_two_processes(Store::Sqlite)).await;
            }
        }
    )+};
}

/// Makes two tests of each `async fn(Plan)`: on PostgreSQL, in one process and in two; for what has
/// no meaning on a file.
#[macro_export]
macro_rules! on_postgres {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use $crate::{Plan, Store};

            #[tokio::test]
            async fn in_one_process() {
                super::$case(Plan::in_one_process(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn in_two_processes() {
                super::$case(Plan::in_two_processes(Store::Postgres)).await;
            }
        }
    )+};
}
