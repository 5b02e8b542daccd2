//! Logs why replicas cannot be reached, without repeating a cause.

use crate::connect_error::ConnectError;
use parking_lot::Mutex;
use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
};

/// The maximum number of causes to keep for one replica. A limit is needed because an error of a library may
/// contain a number that changes.
const MAX_CAUSES: usize = 8;

/// A replica, as log lines name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReplicaName {
    pub(crate) program: &'static str,
    pub(crate) address: SocketAddr,
}

/// The causes that were logged for each replica. They are not logged again until [`forget`] removes them. All
/// channels of this process share this map.
static LOGGED: Mutex<BTreeMap<ReplicaName, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

/// Logs why a replica cannot be reached, once for each cause, and at most [`MAX_CAUSES`] causes.
pub(crate) fn log(replica: ReplicaName, is_encrypted: bool, error: &ConnectError) {
    let ReplicaName { program, address } = replica;
    let cause = error.describe(is_encrypted);
    let mut logged = LOGGED.lock();
    let causes = logged.entry(replica).or_default();
    if causes.contains(&cause) || causes.len() == MAX_CAUSES {
        return;
    }
    if is_encrypted && !error.is_refused() {
        tracing::warn!(%address, cause, "no secure connection to {program}");
    } else {
        tracing::warn!(%address, cause, "no connection to {program}");
    }
    causes.insert(cause);
}

/// Forgets a replica that was reached or is no longer in DNS, so that its next failure is logged. Returns
/// whether a failure was logged before.
pub(crate) fn forget(replica: ReplicaName) -> bool {
    LOGGED.lock().remove(&replica).is_some()
}
