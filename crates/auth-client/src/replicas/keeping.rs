//! Follows a name: a keeper for each replica that it leads to.

use super::known::Set;
use crate::{
    place::Place,
    replica::{ServiceClient, keep},
};
use std::{
    collections::{HashMap, HashSet},
    io,
    net::SocketAddr,
    pin::pin,
    sync::Arc,
    time::Duration,
};
use tokio::{
    sync::mpsc,
    task::{AbortHandle, JoinSet},
    time::{sleep, timeout},
};

/// Between two looks at the name.
pub(super) const RESOLVE_EVERY: Duration = Duration::from_secs(2);
/// For one look. A resolver takes five seconds to turn from a silent name server to the next, and does
/// so for each search domain; who cuts that short may never hear an answer.
pub(super) const LONGEST_LOOK: Duration = Duration::from_secs(30);

pub(super) async fn keep_all<C: ServiceClient>(place: impl Place, mut set: Set<C>) {
    let mut keepers: JoinSet<()> = JoinSet::new();
    let mut kept: HashMap<SocketAddr, AbortHandle> = HashMap::new();
    let (say, mut states) = mpsc::unbounded_channel();
    // Beside the rest: what replicas say must be heard while a name server says nothing.
    let mut next_look = pin!(look(&place, Duration::ZERO));
    loop {
        tokio::select! {
            Some((address, state)) = states.recv() => {
                // A last word may come from a replica that has been given up already.
                if kept.contains_key(&address) {
                    set.learn(address, state);
                }
            }
            Some(ended) = keepers.join_next() => {
                // Those who were given up are forgotten. After a panic the next look tries again.
                if let Err(error) = ended && error.is_panic() {
                    kept.retain(|address, keeper| {
                        let is_it = keeper.id() == error.id();
                        if is_it {
                            set.forget(*address);
                        }
                        !is_it
                    });
                    set.publish();
                }
            }
            found = &mut next_look => {
                next_look.set(look(&place, RESOLVE_EVERY));
                match found {
                    Ok(found) => {
                        let found: HashSet<SocketAddr> = found.into_iter().collect();
                        kept.retain(|address, keeper| {
                            let is_found = found.contains(address);
                            if !is_found {
                                keeper.abort();
                                set.forget(*address);
                            }
                            is_found
                        });
                        for address in found {
                            kept.entry(address).or_insert_with(|| {
                                set.expect(address);
                                let say = say.clone();
                                let tell = move |state| drop(say.send((address, state)));
                                let wanted = Arc::clone(set.wanted());
                                keepers.spawn(keep(place.dial(address), place.origin(), wanted, tell))
                            });
                        }
                    }
                    // Those that are known stay: a name server may have its outages.
                    Err(error) => {
                        tracing::debug!(%error, "the name of {} does not resolve", C::PROGRAM);
                    }
                }
                set.publish();
            }
        }
    }
}

/// The addresses of the moment after this pause.
async fn look(place: &impl Place, pause: Duration) -> io::Result<Vec<SocketAddr>> {
    sleep(pause).await;
    timeout(LONGEST_LOOK, place.addresses()).await?
}
