//! The work factor of a hash.

/// The work factor of bcrypt, 4 to 31: a hash of cost c takes 2^c iterations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cost(u32);

impl Cost {
    /// The lowest cost of bcrypt, for tests.
    pub const MIN: Self = Self(4);
    /// The highest cost that failed verifications take on: one hash of a higher cost must not stop all
    /// logins.
    pub(crate) const MAX_FAILED: Self = Self(16);
    /// The highest cost of bcrypt.
    pub const MAX: Self = Self(31);

    /// `None` outside 4 to 31.
    #[must_use]
    pub const fn new(cost: u32) -> Option<Self> {
        if cost >= Self::MIN.0 && cost <= Self::MAX.0 { Some(Self(cost)) } else { None }
    }

    /// The number as written in a hash.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// 2^cost.
    #[must_use]
    pub const fn iterations(self) -> u64 {
        1 << self.0
    }
}
