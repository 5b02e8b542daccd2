//! Known-answer tests of every kernel, which a program runs before it serves.

use crate::kernel::{self, Lane, MAX_LANES};
use crate::lane::ExpandedPassword;
use crate::stored::StoredHash;

/// Test vectors from Openwall's `crypt_blowfish` 1.3, `wrapper.c`: one for each lane of the widest kernel.
const VECTORS: [(&[u8], &str); MAX_LANES] = [
    (b"", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
    (b"U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
    (b"U*U*", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.VGOzA784oUp/Z0DY336zx7pLYAy0lwK"),
    (b"U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
    (b"\xa3", "$2y$05$/OK.fbVrR/bpIqNJ5ianF.Sa7shbm4.OzKpvFnX1pQLmQW96oUlCq"),
    (b"\xff\xff\xa3", "$2y$05$/OK.fbVrR/bpIqNJ5ianF.CE5elHaaO4EbggVDjb8P19RukzXSM3e"),
    (&[0xaa; 72], "$2a$05$/OK.fbVrR/bpIqNJ5ianF.swQOIzjOiJ9GHEPuhEkvqrUyvWhEMx6"),
    (
        b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored",
        "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui",
    ),
];

/// The number of iterations of each vector, because all have cost 5.
const ITERATIONS: usize = 32;

/// Runs published vectors through the kernels of all widths, and compares one hash with the `bcrypt`
/// crate.
///
/// It takes about 6 ms in a release build. After an error, the engine must not be used on this machine.
pub fn self_test() -> Result<(), String> {
    if let Some(number) = wrong_vector(&VECTORS) {
        return Err(format!(
            "published bcrypt vector number {number} gives a wrong result"
        ));
    }
    let password = b"correct horse battery staple";
    let salt = [0x5a; 16];
    let mut lane = Lane::BLANK;
    lane.start(&ExpandedPassword::new(password), salt);
    kernel::advance(std::slice::from_mut(&mut lane), 16);
    if lane.finish() == bcrypt::bcrypt(4, salt, &[&password[..], b"\0"].concat()) {
        Ok(())
    } else {
        Err("the bcrypt crate computes a different hash".to_owned())
    }
}

/// Returns the number of the first vector with a wrong result; `None` if all are right.
///
/// All vectors advance together, split between two kernels. The widths of the two change with every
/// iteration, so that a fault in any kernel corrupts a result.
fn wrong_vector(vectors: &[(&[u8], &str); MAX_LANES]) -> Option<usize> {
    let stored = vectors.map(|(_, hash)| StoredHash::parse(hash));
    let mut lanes = vec![Lane::BLANK; MAX_LANES];
    for (number, (password, _)) in vectors.iter().enumerate() {
        let Some(stored) = stored[number] else {
            return Some(number);
        };
        lanes[number].start(&ExpandedPassword::new(password), stored.salt);
    }
    for iteration in 0..ITERATIONS {
        let (some, others) = lanes.split_at_mut(iteration % MAX_LANES + 1);
        kernel::advance(some, 1);
        kernel::advance(others, 1);
    }
    let wrong = |(lane, stored): (&Lane, Option<StoredHash>)| {
        stored.is_none_or(|stored| !lane.finish().starts_with(&stored.digest))
    };
    lanes.iter().zip(stored).position(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kernel_computes_bcrypt() {
        assert_eq!(self_test(), Ok(()));
    }

    #[test]
    fn a_wrong_result_is_detected_in_every_vector() {
        for number in 0..MAX_LANES {
            let mut vectors = VECTORS;
            vectors[number].0 = b"another";
            assert_eq!(wrong_vector(&vectors), Some(number));
        }
    }
}
