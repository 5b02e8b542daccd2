//! Keeps the record of the fake: user 1 was registered, and got a role.

use super::{
    api_keys::token,
    users::{error, require_admin, user_of_token},
};
use prost_types::Timestamp;
use rolegate_proto::auth_v1::{AuditEntry, ListAuditRequest, ListAuditResponse};
use tonic::{Request, Status};

pub(super) fn list(request: &Request<ListAuditRequest>) -> Result<ListAuditResponse, Status> {
    if request.get_ref().own {
        user_of_token(token(request)).map_err(|reason| error(reason, ""))?;
    } else {
        require_admin(request)?;
    }
    let registered = AuditEntry {
        revision: 1,
        time: Some(Timestamp {
            seconds: 1,
            nanos: 0,
        }),
        event: "registered".to_owned(),
        user_id: Some(1),
        details: "{}".to_owned(),
        ..AuditEntry::default()
    };
    let role_changed = AuditEntry {
        revision: 2,
        event: "role_changed".to_owned(),
        username: Some("user".to_owned()),
        actor_id: Some(3),
        actor: Some("admin".to_owned()),
        actor_key: Some(4),
        client_address: Some("203.0.113.9".to_owned()),
        request_id: Some("r1".to_owned()),
        details: r#"{"from":"user","to":"author"}"#.to_owned(),
        ..registered.clone()
    };
    let next_after = (request.get_ref().page_size == 2).then_some(1);
    Ok(ListAuditResponse {
        entries: vec![role_changed, registered],
        next_after,
        incomplete: false,
    })
}
