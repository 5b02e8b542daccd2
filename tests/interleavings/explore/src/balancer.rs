//! The scenarios of crates/grpc-client: the replica set, hedges, calls and their batches.

use crate::runs::Scenario;
use interleaved_grpc_client::{calls, replicas};

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "replicas::published_choice",
        property: "the published choice of replicas is that of their states",
        run: replicas::published_choice_is_that_of_the_states,
    },
    Scenario {
        name: "replicas::hedge_budget",
        property: "no more calls are hedged than the budget has",
        run: replicas::hedges_keep_their_budget,
    },
    Scenario {
        name: "calls::first_calls",
        property: "calls before the first health status wait for it, and are answered",
        run: calls::first_calls_wait_for_a_replica,
    },
    Scenario {
        name: "calls::lost_replica",
        property: "calls about keys of a lost replica go to another one at once",
        run: calls::keys_of_a_lost_replica_move,
    },
    Scenario {
        name: "calls::hedged_read",
        property: "a read that a replica does not answer is answered by another one",
        run: calls::unanswered_read_is_hedged,
    },
    Scenario {
        name: "calls::one_batcher",
        property: "requests about keys of one replica share one batcher, and all are answered",
        run: calls::one_batcher_for_each_replica,
    },
];
