//! The macro that runs the conformance suite of a store.

/// Generates tests for each case: `on_sqlite` and `on_postgres`.
///
/// A case is an `async fn(&S)` of the calling module, where `S` is a `Store`, and `$open` is an
/// `async fn(&DatabaseUrl) -> Result<Arc<S>, _>`. The calling crate depends on
/// `rolegate-sql-store`, `tempfile` and `tokio`.
#[macro_export]
macro_rules! conformance_tests {
    (open: $open:ident, cases: [$($case:ident),+ $(,)?]) => {$(
        mod $case {
            use ::rolegate_sql_store::{DatabaseUrl, Store};

            #[::tokio::test]
            async fn on_sqlite() {
                let folder = ::tempfile::tempdir().expect("a folder");
                let url = DatabaseUrl::from_file("DATABASE_URL", folder.path().join("store.db"));
                super::$case(&*super::$open(&url).await.expect("opened")).await;
            }

            #[::tokio::test]
            async fn on_postgres() {
                let database = $crate::Database::create().await;
                let url = Some(database.url().as_str().into());
                let url = DatabaseUrl::required("DATABASE_URL", url, None).expect("a URL");
                let store = super::$open(&url).await.expect("opened");
                super::$case(&*store).await;
                Store::close(&*store).await;
            }
        }
    )+};
}
