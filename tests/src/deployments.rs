//! One case, a named test for each deployment. The cases stay ordinary functions; a case that is not
//! listed is dead code, which clippy rejects.
//!
//! A case runs where its outcome can differ: [`for_one_deployment!`](crate::for_one_deployment) for HTTP alone,
//! [`for_two_deployments!`](crate::for_two_deployments) for what the store or the calls between services
//! take part in, [`for_all_deployments!`](crate::for_all_deployments) for what has to work everywhere.

/// A test of each `async fn(TestSetup)` in one deployment: what happens before a store is asked.
#[macro_export]
macro_rules! for_one_deployment {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case: on_sqlite_all_in_one = all_in_one(Sqlite));
    )+};
}

/// A test of each `async fn(TestSetup)` on both stores, one of them split.
#[macro_export]
macro_rules! for_two_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case:
            on_postgres_split = split(Postgres),
            on_sqlite_all_in_one = all_in_one(Sqlite),
        );
    )+};
}

/// A test of each `async fn(TestSetup)` on both stores, in one process and split, such as
/// `register::taken_username_is_rejected::on_postgres_split`.
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

/// For faults between the services: split, on both stores.
#[macro_export]
macro_rules! for_split_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case:
            on_postgres = split(Postgres),
            on_sqlite = split(Sqlite),
        );
    )+};
}

/// For what needs a database server: on PostgreSQL, in one process and split.
#[macro_export]
macro_rules! for_postgres_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case: all_in_one = all_in_one(Postgres), split = split(Postgres));
    )+};
}

/// For what does not depend on the store: on SQLite, in one process and split.
#[macro_export]
macro_rules! for_sqlite_deployments {
    ($($case:ident),+ $(,)?) => {$(
        $crate::deployments!($case: all_in_one = all_in_one(Sqlite), split = split(Sqlite));
    )+};
}

/// A test of each `async fn(Store)` on both stores, for cases that start their own processes.
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

/// What the macros above expand to.
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
