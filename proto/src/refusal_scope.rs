//! How much a refusal covers.

/// The key of [`RefusalScope`] in the metadata of `google.rpc.ErrorInfo`.
pub const REFUSAL_SCOPE: &str = "scope";

/// The password checks that are refused until the `RetryInfo` of a `TOO_MANY_ATTEMPTS` or `OVERLOADED`
/// has passed. A caller that keeps it need not ask again. A refusal without a scope covers one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalScope {
    /// Those for this username from this client.
    Username,
    /// Those from this client: an IPv4 address or an IPv6 /64.
    Client,
    /// All at the replica that refused.
    Service,
}

impl RefusalScope {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Username => "username",
            Self::Client => "client",
            Self::Service => "service",
        }
    }

    /// The scope with this name; `None` for one of a later version.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Username, Self::Client, Self::Service]
            .into_iter()
            .find(|scope| scope.as_str() == name)
    }
}
