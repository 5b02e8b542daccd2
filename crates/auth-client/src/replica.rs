//! One replica of a service: kept connected, and asked how it is.

use crate::connection::{Connection, Stream};
use http::{Uri, uri::Scheme};
use rolegate_proto::{SERVICE_NAME, auth_v1::auth_service_client::AuthServiceClient};
use std::{fmt, io, pin::Pin, sync::Arc, time::Duration};
use tokio::{
    sync::Notify,
    time::{Instant, sleep, timeout},
};
use tonic::{Status, Streaming};
use tonic_health::pb::{
    HealthCheckRequest, HealthCheckResponse, health_check_response::ServingStatus,
    health_client::HealthClient,
};

/// A replica that does not connect and say how it is within this time is as good as gone.
pub(crate) const FIRST_WORD: Duration = Duration::from_secs(2);
/// Between two tries, however eager the callers.
const REST: Duration = Duration::from_millis(10);
/// Between two tries when nobody asks; doubled up to the longest.
const SHORTEST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A generated client: which service it calls, and how it is made.
pub trait ServiceClient: Clone + fmt::Debug + Send + Sync + 'static {
    /// The program that is called, for people who read logs.
    const PROGRAM: &'static str;
    /// Where it listens unless told otherwise.
    const PORT: u16;
    /// The service whose health is asked.
    const SERVICE: &'static str;

    /// A client that calls over this connection.
    fn over(connection: Connection, origin: Uri) -> Self;
}

impl ServiceClient for AuthServiceClient<Connection> {
    const PROGRAM: &'static str = "auth-service";
    const PORT: u16 = 50051;
    const SERVICE: &'static str = SERVICE_NAME;

    fn over(connection: Connection, origin: Uri) -> Self {
        Self::with_origin(connection, origin)
    }
}

/// Opens a stream to one replica.
pub(crate) type Dial = Arc<
    dyn Fn() -> Pin<Box<dyn Future<Output = io::Result<Box<dyn Stream>>> + Send>> + Send + Sync,
>;

/// How a replica is.
#[derive(Clone, Debug)]
pub(crate) enum State<C> {
    /// It cannot be reached.
    Gone,
    /// It answers. While it does not serve (it starts, stops, or has no store) others are better.
    Answers { client: C, serves: bool },
}

/// Keeps a replica connected and says how it is, at each change, for as long as this is polled.
/// While it is gone, `wanted` has it tried again at once: a caller came who has nowhere to go.
/// `grpc.health.v1` tells: a stream that brings every change at once, and ends with the connection.
pub(crate) async fn keep<C: ServiceClient>(
    dial: Dial,
    origin: Uri,
    wanted: Arc<Notify>,
    say: impl Fn(State<C>),
) {
    let mut pause = SHORTEST_PAUSE;
    let is_encrypted = origin.scheme() == Some(&Scheme::HTTPS);
    let mut complaint = String::new();
    loop {
        // Also hears those who come during the try that fails: what they want may be there by now.
        let asked_for = wanted.notified();
        let connected = Instant::now();
        match timeout(FIRST_WORD, connect::<C>(&dial, &origin)).await {
            Ok(Ok((client, health))) => {
                complaint.clear();
                follow(&client, health, &say).await;
                // It stops, or was cut off. Only trying tells which; until then callers without
                // another one wait for the next try, which takes milliseconds, instead of failing on
                // this connection. Calls on it may still finish.
                say(State::Gone);
                if connected.elapsed() > LONGEST_PAUSE {
                    pause = SHORTEST_PAUSE;
                    continue;
                }
            }
            // What is wrong with certificates does not mend itself, and callers only see an outage.
            Ok(Err(error)) if is_encrypted && complaint != causes(&error) => {
                complaint = causes(&error);
                tracing::warn!(error = complaint, "no secure connection to {}", C::PROGRAM);
            }
            Ok(Err(error)) => {
                tracing::debug!(%error, "a replica of {} is not there", C::PROGRAM);
            }
            Err(_elapsed) => tracing::debug!("a replica of {} says nothing", C::PROGRAM),
        }
        say(State::Gone);
        sleep(REST).await;
        let _ = timeout(pause, asked_for).await;
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

/// An error and what caused it.
fn causes(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(causes).unwrap_or_default();
    format!("{error}{}{cause}", if cause.is_empty() { "" } else { ": " })
}

type Health = (HealthCheckResponse, Streaming<HealthCheckResponse>);

async fn connect<C: ServiceClient>(dial: &Dial, origin: &Uri) -> Result<(C, Health), Status> {
    let stream = dial().await?;
    let connection =
        Connection::open(stream).await.map_err(|error| Status::from_error(error.into()))?;
    let request = HealthCheckRequest { service: C::SERVICE.to_owned() };
    let mut health = HealthClient::with_origin(connection.clone(), origin.clone())
        .watch(request)
        .await?
        .into_inner();
    let first = health.message().await?.ok_or_else(|| Status::unavailable("it stops"))?;
    Ok((C::over(connection, origin.clone()), (first, health)))
}

/// Says what the replica says of itself until it says no more.
async fn follow<C: ServiceClient>(client: &C, health: Health, say: &impl Fn(State<C>)) {
    let (mut word, mut more) = health;
    loop {
        let serves = word.status() == ServingStatus::Serving;
        say(State::Answers { client: client.clone(), serves });
        match more.message().await {
            Ok(Some(next)) => word = next,
            Ok(None) | Err(_) => break,
        }
    }
}
