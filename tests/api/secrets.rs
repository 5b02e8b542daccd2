//! No password, hash, token or other secret may appear in logs, spans or metrics.

mod exercise_all;

use e2e::{Api, Collector, TestSetup, for_all_deployments, for_two_deployments};
use exercise_all::exercise_all;

for_all_deployments!(no_secret_is_logged_at_trace);
for_two_deployments!(no_secret_is_in_json_logs_spans_or_metrics);

async fn no_secret_is_logged_at_trace(setup: TestSetup) {
    nothing_secret_is_printed(setup.with("RUST_LOG", "trace")).await;
}

/// Searches logs in JSON, spans and metrics.
async fn no_secret_is_in_json_logs_spans_or_metrics(setup: TestSetup) {
    let collector = Collector::start().await;
    let setup = setup
        .with("RUST_LOG", "trace")
        .with("LOG_FORMAT", "json")
        .with("OTEL_EXPORTER_OTLP_ENDPOINT", &collector.url());
    let (secrets, metrics) = nothing_secret_is_printed(setup).await;
    let spans = collector.spans();
    assert!(
        spans.iter().any(|span| span.name == "POST /login"),
        "{spans:#?}"
    );
    let exported = format!("{spans:?}{metrics}");
    for secret in &secrets {
        assert!(
            !exported.contains(secret),
            "{secret} is in a span or a metric: {exported}"
        );
    }
}

/// Searches the output of the programs. Returns the secrets and the metrics, so that the caller can
/// search further.
async fn nothing_secret_is_printed(setup: TestSetup) -> (Vec<String>, String) {
    let app = setup.start().await;
    let mut secrets = exercise_all(&app).await;
    let mut metrics = String::new();
    for process in app.processes() {
        metrics += &Api::at(&process.address("ops"))
            .get("/metrics")
            .await
            .expect(200)
            .body;
    }
    for name in ["admin", "ann"] {
        secrets.push(app.database.user(name).await.expect("stored").password);
    }
    let database = app.database.url();
    let (processes, _database) = app.into_processes();
    for process in processes {
        process.terminate();
        let exit = process.exit().await;
        assert_eq!(exit.code, Some(0), "{}", exit.stderr);
        let printed = exit.stdout + &exit.stderr;
        assert!(printed.contains("INFO"), "nothing was logged: {printed}");
        for secret in &secrets {
            let lines: Vec<_> = printed
                .lines()
                .filter(|line| line.contains(secret))
                .collect();
            assert!(lines.is_empty(), "{secret} was printed: {lines:#?}");
        }
        // Parts of secrets must not be printed either, such as a token without its signature.
        assert!(
            !printed.contains("eyJ"),
            "part of a token was printed: {printed}"
        );
        assert!(
            !printed.contains("$2b$"),
            "part of a hash was printed: {printed}"
        );
    }
    drop(database);
    (secrets, metrics)
}
