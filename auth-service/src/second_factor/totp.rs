//! Computes time-based one-time passwords: RFC 6238 with SHA-1, six digits and time steps of 30 seconds.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha1::Sha1;
use std::array;

const STEP_SECONDS: u64 = 30;
/// Codes are numbers below this limit, which gives them six digits.
const CODE_MODULUS: u32 = 1_000_000;

/// Returns the time step whose code this is: the step of the time `at`, in Unix seconds, or one of its two
/// neighbors. Returns `None` if no step matches. Steps up to `last_used` do not count, so that no code is
/// accepted twice.
pub(crate) fn matching_step(secret: &[u8], code: u32, at: u64, last_used: u64) -> Option<u64> {
    let now = at / STEP_SECONDS;
    let steps = [now.saturating_sub(1), now, now + 1];
    // All three codes are always computed, so that the duration does not reveal which step matched.
    let codes = steps.map(|step| code_of_step(secret, step));
    let index = (0..steps.len()).find(|&it| codes[it] == code && steps[it] > last_used)?;
    Some(steps[index])
}

/// Computes the code of a time step (RFC 4226, section 5.3).
fn code_of_step(secret: &[u8], step: u64) -> u32 {
    let mac = Hmac::<Sha1>::new_from_slice(secret).expect("HMAC takes a key of any length");
    let digest = mac.chain_update(step.to_be_bytes()).finalize().into_bytes();
    let offset = usize::from(digest[19] & 0xf);
    let number = u32::from_be_bytes(array::from_fn(|index| digest[offset + index]));
    (number & 0x7fff_ffff) % CODE_MODULUS
}

/// Returns the code at a time, in Unix seconds, as the six digits that people type.
#[cfg(test)]
pub(crate) fn code_at(secret: &[u8], at: u64) -> String {
    format!("{:06}", code_of_step(secret, at / STEP_SECONDS))
}

#[cfg(test)]
mod tests {
    use super::{code_of_step, matching_step};

    const SECRET: &[u8] = b"12345678901234567890";

    #[test]
    fn codes_are_those_of_the_rfc() {
        // The expected codes are the last six digits of the values in RFC 6238, appendix B.
        for (time, expected) in [
            (59_u64, 287_082),
            (1_111_111_109, 81_804),
            (1_111_111_111, 50_471),
            (1_234_567_890, 5_924),
            (2_000_000_000, 279_037),
            (20_000_000_000, 353_130),
        ] {
            assert_eq!(code_of_step(SECRET, time / 30), expected, "at {time}");
        }
    }

    #[test]
    fn one_step_either_side_is_accepted_and_no_step_twice() {
        let at = 1_111_111_111;
        let code = code_of_step(SECRET, at / 30);
        for (moved, is_accepted) in [
            (-60_i64, false),
            (-30, true),
            (0, true),
            (30, true),
            (60, false),
        ] {
            let moved = at.saturating_add_signed(moved);
            assert_eq!(
                matching_step(SECRET, code, moved, 0),
                is_accepted.then_some(at / 30),
                "at {moved}"
            );
        }
        assert_eq!(matching_step(SECRET, code, at, at / 30 - 1), Some(at / 30));
        assert_eq!(matching_step(SECRET, code, at, at / 30), None, "used");
        assert_eq!(matching_step(SECRET, code ^ 1, at, 0), None, "wrong");
        assert_eq!(
            matching_step(SECRET, code_of_step(SECRET, 1), 0, 0),
            Some(1),
            "a clock at zero"
        );
    }
}
