use super::{TokenBearer, TokenBounds};
use crate::user::User;
use rolegate_proto::Role;

#[test]
fn the_lower_of_both_roles_counts() {
    let effective = |stored, role| {
        let user = User {
            id: 1,
            username: "ann".to_owned(),
            role: stored,
            tokens_not_before: 0,
            tokens_marked_until: 0,
            second_factor: false,
            created_at: None,
            until: None,
            memberships: Vec::new(),
            found_groups: Vec::new(),
            disabled: false,
        };
        let key = TokenBearer {
            digest: String::new(),
            token_id: 1,
            expires_at: None,
            last_used_at: 0,
            bounds: TokenBounds::ApiKey { role, groups: None },
            user,
        };
        key.into_bounded_user().role
    };
    for stored in Role::BUILT_IN {
        assert_eq!(effective(stored, None), stored);
        assert_eq!(effective(stored, Some(Role::ADMIN)), stored);
        assert_eq!(effective(stored, Some(Role::USER)), Role::USER);
    }
    assert_eq!(effective(Role::ADMIN, Some(Role::AUTHOR)), Role::AUTHOR);
}
