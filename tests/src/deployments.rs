//! Macros that make a named test of a case for each deployment.
//!
//! The cases stay ordinary functions. A case that is not listed is dead code, which clippy rejects.
//!
//! A case runs in the deployments where its outcome can differ:
//! [`for_one_deployment!`](crate::for_one_deployment) for HTTP alone,
//! [`for_two_deployments!`](crate::for_two_deployments) if the store or the calls between services
//! take part, and [`for_all_deployments!`](crate::for_all_deployments) for what has to work
//! everywhere.

/// Makes a test of each `async fn(TestSetup)` in one deployment, for what happens before a store is
/// asked.
#[macro_export]
macro_rules! for_one_deployment {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case: on_sqlite_all_in_one = all_in_one(Sqlite));
    )+};
}

/// Makes tests of each `async fn(TestSetup)` on both stores: split on PostgreSQL, and in one process
/// on SQLite.
#[macro_export]
macro_rules! for_two_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case:
            on_postgres_split = split(Postgres),
            on_sqlite_all_in_one = all_in_one(Sqlite),
        );
    )+};
}

/// Makes tests of each `async fn(TestSetup)` on both stores, in one process and split. One test is,
/// for example, `register::taken_username_is_rejected::on_postgres_split`.
#[macro_export]
macro_rules! for_all_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case:
            on_postgres_all_in_one = all_in_one(Postgres),
            on_postgres_split = split(Postgres),
            on_sqlite_all_in_one = all_in_one(Sqlite),
            on_sqlite_split = split(Sqlite),
        );
    )+};
}

/// Makes tests of split deployments on both stores, for faults between the services.
#[macro_export]
macro_rules! for_split_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case:
            on_postgres = split(Postgres),
            on_sqlite = split(Sqlite),
        );
    )+};
}

/// Makes tests on PostgreSQL, in one process and split, for what needs a database server.
#[macro_export]
macro_rules! for_postgres_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case: all_in_one = all_in_one(Postgres), split = split(Postgres));
    )+};
}

/// Makes tests on SQLite, in one process and split, for what does not depend on the store.
#[macro_export]
macro_rules! for_sqlite_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case: all_in_one = all_in_one(Sqlite), split = split(Sqlite));
    )+};
}

/// Makes tests of each `async fn(Store)` on both stores, for cases that start their own processes.
#[macro_export]
macro_rules! for_both_stores {
    ($($case:ident),+ $(,)?) => {$(
        mod $case {
            #[tokio::test]
            async fn on_postgres() {
                super::$case($crate::Store::Postgres).await;
            }

            #[tokio::test]
            async fn on_sqlite() {
                super::$case($crate::Store::Sqlite).await;
            }
        }
    )+};
}

/// Makes the tests of the macros above.
#[doc(hidden)]
#[macro_export]
macro_rules! deployments {
    ($case:ident: $($name:ident = $deployment:ident($store:ident)),+ $(,)?) => {
        mod $case {
            use $crate::{Store, TestSetup};

            $(
                #[tokio::test]
                async fn $name() {
                    super::$case(TestSetup::$deployment(Store::$store)).await;
                }
            )+
        }
    };
}
