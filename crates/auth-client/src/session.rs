//! Converts the sessions in responses of auth-service.

use crate::response_time::{optional_time, required_time};
use rolegate_grpc_client::CallError;
use rolegate_proto::auth_v1;
use std::time::SystemTime;

/// A session, without its token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The id, which is at least 1 and never reused.
    pub id: i64,
    /// The id of the user who signed in.
    pub user_id: i64,
    /// The name that the client chose, which need not be unique; `None` for none.
    pub name: Option<String>,
    /// The time at which the session was created, in whole seconds like the times below.
    pub created_at: SystemTime,
    /// The time at which a decision last accepted the session; `None` if none has. It is stored with a delay of
    /// up to a minute.
    pub last_used_at: Option<SystemTime>,
    /// The address of the client that created the session; `None` if unknown.
    pub client_address: Option<String>,
    /// The `User-Agent` header of the client that created the session. Do not base decisions on it, because a
    /// client can send any text.
    pub user_agent: Option<String>,
    /// The time at which the session expires, even if it is used.
    pub expires_at: SystemTime,
    /// The time at which the session expires if it is not used until then.
    pub idle_expires_at: SystemTime,
    /// True if the session is the credential of the call.
    pub current: bool,
}

impl TryFrom<auth_v1::Session> for Session {
    type Error = CallError;

    fn try_from(session: auth_v1::Session) -> Result<Self, CallError> {
        Ok(Self {
            id: session.id,
            user_id: session.user_id,
            name: session.name,
            created_at: required_time(session.created_at)?,
            last_used_at: optional_time(session.last_used_at)?,
            client_address: session.client_address,
            user_agent: session.user_agent,
            expires_at: required_time(session.expires_at)?,
            idle_expires_at: required_time(session.idle_expires_at)?,
            current: session.current,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Session, auth_v1};
    use prost_types::Timestamp;
    use rolegate_grpc_client::CallError;

    const TIME: Option<Timestamp> = Some(Timestamp {
        seconds: 1,
        nanos: 0,
    });
    const BEFORE_1970: Option<Timestamp> = Some(Timestamp {
        seconds: -1,
        nanos: 0,
    });

    #[test]
    fn sessions_that_cannot_be_shown_are_errors() {
        let good = auth_v1::Session {
            created_at: TIME,
            expires_at: TIME,
            idle_expires_at: TIME,
            ..auth_v1::Session::default()
        };
        let session = Session::try_from(good.clone()).expect("a session");
        assert_eq!((session.name, session.last_used_at), (None, None));
        for bad in [
            auth_v1::Session {
                created_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                expires_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                idle_expires_at: None,
                ..good.clone()
            },
            auth_v1::Session {
                last_used_at: BEFORE_1970,
                ..good
            },
        ] {
            assert_eq!(Session::try_from(bad), Err(CallError::Malformed));
        }
    }
}
