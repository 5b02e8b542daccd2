//! Fake replicas in memory, which have only the health service.

use crate::{connection::open, replica_set::ReplicaState};
use rolegate_proto::SERVICE_NAME;
use std::{io, pin::pin};
use tokio::{
    io::{DuplexStream, copy_bidirectional, duplex},
    select,
    sync::watch,
    task::AbortHandle,
};
use tonic::transport::Server;
use tonic_health::ServingStatus;

/// Starts a replica that is serving, and returns the client's end of a connection to it.
pub(super) fn replica() -> DuplexStream {
    let (near, far) = duplex(64 * 1024);
    let (health, service) = tonic_health::server::health_reporter();
    tokio::spawn(async move {
        health
            .set_service_status(SERVICE_NAME, ServingStatus::Serving)
            .await;
        let connection = tokio_stream::once(io::Result::Ok(far));
        Server::builder()
            .add_service(service)
            .serve_with_incoming(connection)
            .await
    });
    near
}

/// Starts a replica like [`replica`]. Aborting the returned handle cuts the connection.
pub(super) fn severable_replica() -> (DuplexStream, AbortHandle) {
    let (near, mut middle) = duplex(64 * 1024);
    let mut replica = replica();
    let relay = tokio::spawn(async move { copy_bidirectional(&mut middle, &mut replica).await });
    (near, relay.abort_handle())
}

pub(super) async fn serving() -> ReplicaState {
    let connection = open(Box::new(replica()))
        .await
        .expect("it answers")
        .connection;
    ReplicaState::Up {
        connection,
        serving: true,
    }
}

/// Starts a replica like [`replica`]. While the value of the returned sender is true, the connection carries no
/// data.
pub(super) fn freezable_replica() -> (DuplexStream, watch::Sender<bool>) {
    let (near, mut middle) = duplex(64 * 1024);
    let mut replica = replica();
    let (freeze, mut is_frozen) = watch::channel(false);
    tokio::spawn(async move {
        let mut copying = pin!(copy_bidirectional(&mut middle, &mut replica));
        loop {
            let changed = if *is_frozen.borrow_and_update() {
                is_frozen.changed().await
            } else {
                select! {
                    _ = &mut copying => return,
                    changed = is_frozen.changed() => changed,
                }
            };
            if changed.is_err() {
                return;
            }
        }
    });
    (near, freeze)
}
