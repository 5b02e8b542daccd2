//! Sends calls about one key to one replica, by rendezvous hashing (Thaler and Ravishankar, 1998).
//!
//! Each replica has a weight for each key, and a call goes to the replica with the highest weight. If a replica
//! is lost, only its own keys move, each to the replica with the next highest weight. All clients must agree,
//! so the functions are fixed: FNV-1a, finished by `SplitMix64`. Neither function is secret, so a client that
//! chooses its keys can choose the replica.

use fnv::FnvHasher;
use std::{
    hash::Hasher as _,
    net::{IpAddr, SocketAddr},
};

/// The hash of a key, such as a username, or of a replica's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Affinity(u64);

impl Affinity {
    pub(crate) fn from_key(key: &str) -> Self {
        Self::hash(&[key.as_bytes()])
    }

    /// Hashes the address of a replica. The hash is the same in every client that reaches the replica at this
    /// address, and for the IPv6-mapped form of an IPv4 address.
    pub(crate) fn from_address(address: SocketAddr) -> Self {
        let port = address.port().to_be_bytes();
        match address.ip().to_canonical() {
            IpAddr::V4(ip) => Self::hash(&[&ip.octets(), &port]),
            IpAddr::V6(ip) => Self::hash(&[&ip.octets(), &port]),
        }
    }

    fn hash(parts: &[&[u8]]) -> Self {
        let mut hasher = FnvHasher::default();
        for part in parts {
            hasher.write(part);
        }
        Self(mix(hasher.finish()))
    }

    /// Returns the weight of a replica for this key. Calls about the key go to the replica with the highest
    /// weight.
    pub(crate) fn weight(self, replica: Self) -> u64 {
        mix(self.0 ^ replica.0)
    }
}

/// Mixes bits by the output function of `SplitMix64` (Steele, Lea and Flood, 2014), so that every bit of the
/// result depends on every bit of the input.
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::Affinity;
    use std::{collections::HashMap, net::SocketAddr};

    fn replicas(count: u8) -> Vec<SocketAddr> {
        (1..=count)
            .map(|last| SocketAddr::from(([10, 0, 0, last], 50051)))
            .collect()
    }

    fn home(key: &str, replicas: &[SocketAddr]) -> SocketAddr {
        let weight = |replica: &&SocketAddr| {
            Affinity::from_key(key).weight(Affinity::from_address(**replica))
        };
        *replicas.iter().max_by_key(weight).expect("a replica")
    }

    #[test]
    fn keys_spread_evenly_over_replicas() {
        for count in [2, 3, 8] {
            let all = replicas(count);
            let mut shares: HashMap<SocketAddr, u32> = HashMap::new();
            for number in 0..10_000 {
                *shares
                    .entry(home(&format!("user{number}"), &all))
                    .or_default() += 1;
            }
            let fair = 10_000 / u32::from(count);
            let is_fair = |share: &u32| share.abs_diff(fair) < fair / 10;
            assert!(
                shares.len() == all.len() && shares.values().all(is_fair),
                "{shares:?}"
            );
        }
    }

    #[test]
    fn losing_a_replica_moves_only_its_own_keys_and_to_all_others() {
        let all = replicas(5);
        let (lost, left) = (all[2], [&all[..2], &all[3..]].concat());
        let mut new_homes: HashMap<SocketAddr, u32> = HashMap::new();
        for number in 0..10_000 {
            let key = format!("user{number}");
            let (before, after) = (home(&key, &all), home(&key, &left));
            if before == lost {
                *new_homes.entry(after).or_default() += 1;
            } else {
                assert_eq!(before, after, "{key}");
            }
        }
        assert!(new_homes.len() == 4 && new_homes.values().all(|moved| *moved > 400));
    }

    #[test]
    fn hashes_are_those_of_every_release() {
        assert_eq!(Affinity::from_key("ada"), Affinity(0x7d3c_4ad3_72fc_321d));
        let v4: SocketAddr = "10.0.0.1:50051".parse().expect("an address");
        let mapped: SocketAddr = "[::ffff:10.0.0.1]:50051".parse().expect("an address");
        assert_eq!(Affinity::from_address(v4), Affinity(0x1218_adf8_a300_7117));
        assert_eq!(Affinity::from_address(mapped), Affinity::from_address(v4));
    }
}
