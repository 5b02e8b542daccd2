//! One case, a named test for each world. The cases stay ordinary functions; one that is not listed
//! is dead code, which clippy refuses.

/// Makes four tests of each `async fn(TestSetup)`, such as
/// `register::a_taken_name_is_refused::on_postgres_in_two_processes`.
#[macro_export]
macro_rules! for_all_deployments {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use $crate::{TestSetup, Store};

            #[tokio::test]
            async fn on_postgres_all_in_one() {
                super::$case(TestSetup::all_in_one(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn on_postgres_split() {
                super::$case(TestSetup::split(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn on_sqlite_all_in_one() {
                super::$case(TestSetup::all_in_one(Store::Sqlite)).await;
            }

            #[tokio::test]
            async fn on_sqlite_split() {
                super::$case(TestSetup::split(Store::Sqlite)).await;
            }
        }
    )+};
}

/// Makes two tests of each `async fn(TestSetup)`: on both stores, in two processes; for what has no
/// meaning in one.
#[macro_export]
macro_rules! for_split_deployments {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use $crate::{TestSetup, Store};

            #[tokio::test]
            async fn on_postgres() {
                super::$case(TestSetup::split(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                super::$case(TestSetup::split(Store::Sqlite)).await;
            }
        }
    )+};
}

/// Makes two tests of each `async fn(TestSetup)`: on PostgreSQL, in one process and in two; for what has
/// no meaning on a file.
#[macro_export]
macro_rules! for_postgres_deployments {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            use $crate::{TestSetup, Store};

            #[tokio::test]
            async fn all_in_one() {
                super::$case(TestSetup::all_in_one(Store::Postgres)).await;
            }

            #[tokio::test]
            async fn split() {
                super::$case(TestSetup::split(Store::Postgres)).await;
            }
        }
    )+};
}
