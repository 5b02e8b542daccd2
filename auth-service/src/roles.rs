//! The roles of this service: `user`, `author` and `admin`, which always exist, and the extra roles
//! of the setting `EXTRA_ROLES`.

use crate::store::RoleUsage;
use rolegate_program::settings::SettingError;
use rolegate_proto::Role;
use std::str::FromStr;

const MAX_EXTRA_ROLES: usize = 32;

/// The roles that users of this service can have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Roles {
    /// The extra roles, in the order of the setting.
    extra: Vec<Role>,
}

impl Roles {
    /// The three roles that always exist, without extra ones.
    pub(crate) const BUILT_IN: Self = Self { extra: Vec::new() };

    pub(crate) fn contains(&self, role: &Role) -> bool {
        Role::BUILT_IN.contains(role) || self.extra.contains(role)
    }

    /// Iterates over the three built-in roles, and then over the extra ones in the order of the
    /// setting.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Role> {
        Role::BUILT_IN.into_iter().chain(self.extra.iter().copied())
    }

    /// Returns the role with this name; `None` if this service does not have it.
    pub(crate) fn find(&self, name: &str) -> Option<Role> {
        let role = name.parse().ok()?;
        self.contains(&role).then_some(role)
    }

    /// Returns the role that an argument of a command names. Fails if this service does not have it.
    pub(crate) fn require(&self, name: &str) -> Result<Role, SettingError> {
        self.find(name).ok_or_else(|| self.unknown_role())
    }

    /// Returns the length of the longest role name in bytes, for the width of a column.
    pub(crate) fn max_name_len(&self) -> usize {
        self.iter()
            .map(|role| role.as_str().len())
            .max()
            .unwrap_or_default()
    }

    /// Fails if a stored user or API key has a role that is not configured, because that user or
    /// key would silently act as `user`.
    pub(crate) fn check(&self, in_use: Vec<RoleUsage>) -> Result<(), SettingError> {
        let mut names = Vec::new();
        let mut users = 0;
        let mut keys = 0;
        for usage in in_use {
            if self.find(&usage.role).is_none() {
                users += usage.users;
                keys += usage.api_keys;
                names.push(usage.role);
            }
        }
        names.dedup();
        let Some(first) = names.first() else {
            return Ok(());
        };
        let names = names.join(", ");
        let problem = format!(
            "lacks {names}, which {users} user(s) and {keys} API key(s) have; \
             auth-service (or rolegate) user list --role {first} lists them"
        );
        Err(SettingError::new("EXTRA_ROLES", problem))
    }

    /// Fails if one of these groups has the name of a role, because a requirement, a header or a person could take one
    /// for the other.
    pub(crate) fn check_groups(&self, groups: &[String]) -> Result<(), SettingError> {
        let mut ambiguous = groups.to_vec();
        ambiguous.retain(|name| self.find(name).is_some());
        if ambiguous.is_empty() {
            return Ok(());
        }
        let problem = format!("has names of groups: {}", ambiguous.join(", "));
        Err(SettingError::new("EXTRA_ROLES", problem))
    }

    /// Returns the names of the extra roles.
    pub(crate) fn extra_names(&self) -> Vec<String> {
        self.extra.iter().map(Role::to_string).collect()
    }

    /// Returns the error of a command whose argument names an unknown role.
    pub(crate) fn unknown_role(&self) -> SettingError {
        SettingError::new("ROLE", format!("must be one of: {}", self.join_names()))
    }

    /// Joins the role names with commas, for messages.
    pub(crate) fn join_names(&self) -> String {
        self.iter()
            .map(|role| role.to_string())
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl FromStr for Roles {
    type Err = &'static str;

    /// Parses the setting `EXTRA_ROLES`: names separated by commas. Empty entries are skipped.
    /// Fails if a name is invalid, repeated or built in, or if there are more than 32.
    fn from_str(text: &str) -> Result<Self, &'static str> {
        let invalid = "must be at most 32 names separated by commas, each once and [a-z][a-z0-9_-]{0,31}, \
                    without user, author, admin";
        let mut roles = Self::BUILT_IN;
        for name in text.split(',').map(str::trim) {
            if name.is_empty() {
                continue;
            }
            let role = name.parse().map_err(|_| invalid)?;
            if roles.contains(&role) || roles.extra.len() == MAX_EXTRA_ROLES {
                return Err(invalid);
            }
            roles.extra.push(role);
        }
        Ok(roles)
    }
}

#[cfg(test)]
mod tests {
    use super::Roles;
    use crate::store::RoleUsage;
    use rolegate_proto::Role;
    use std::collections::HashSet;

    fn roles(text: &str) -> Roles {
        text.parse().expect("roles")
    }

    #[test]
    fn extra_roles_follow_the_three_in_their_order() {
        let all = roles(" editor,auditor ,,night-shift_2,");
        assert_eq!(
            all.join_names(),
            "user, author, admin, editor, auditor, night-shift_2"
        );
        assert!(all.iter().all(|role| all.contains(&role)));
        let unknown: Role = "edito".parse().expect("a role");
        assert!(!all.contains(&unknown));
    }

    #[test]
    fn empty_text_is_the_three_roles() {
        for text in ["", " ", ",", " , "] {
            assert_eq!(roles(text), Roles::BUILT_IN, "{text:?}");
        }
        assert_eq!(Roles::BUILT_IN.join_names(), "user, author, admin");
    }

    #[test]
    fn names_are_well_formed_and_different_and_none_of_the_three() {
        let number = |count| {
            (0..count)
                .map(|it| format!("r{it}"))
                .collect::<Vec<_>>()
                .join(",")
        };
        assert_eq!(roles(&number(32)).iter().count(), 35);
        assert!(roles(&"z".repeat(32)).contains(&"z".repeat(32).parse().expect("a role")));
        for invalid in [
            "Editor",
            "editor,auditor,editor",
            "admin",
            "editor,user",
            "author",
            "1st",
            "-editor",
            "éditeur",
            "edit or",
            "editor;auditor",
            "editor\0",
            "*",
            &"z".repeat(33),
            &number(33),
        ] {
            let error = invalid.parse::<Roles>().expect_err(invalid);
            assert!(error.starts_with("must be at most 32 names"), "{error}");
            assert!(!error.contains("ditor"), "it quotes the value: {error}");
        }
    }

    #[test]
    fn names_in_use_without_a_role_are_counted_and_named_once() {
        let used = |names: &[(&str, i64, i64)]| {
            names
                .iter()
                .map(|&(name, users, api_keys)| RoleUsage {
                    role: name.to_owned(),
                    users,
                    api_keys,
                })
                .collect()
        };
        let some = used(&[("admin", 1, 0), ("admin", 0, 2), ("editor", 7, 0)]);
        assert_eq!(roles("editor").check(some), Ok(()));
        let more = used(&[
            ("auditor", 0, 2),
            ("editor", 2, 0),
            ("editor", 0, 1),
            ("user", 9, 9),
        ]);
        let error = Roles::BUILT_IN.check(more).expect_err("two are missing");
        assert_eq!(
            error.to_string(),
            "EXTRA_ROLES: lacks auditor, editor, which 2 user(s) and 3 API key(s) have; \
             auth-service (or rolegate) user list --role auditor lists them"
        );
    }

    #[test]
    fn a_named_role_is_one_of_these() {
        let all = roles("editor");
        assert_eq!(all.find("author"), Some(Role::AUTHOR));
        assert!(all.find("editor").is_some());
        for unknown in ["auditor", "Editor", "", "editor ", "e\0"] {
            assert_eq!(all.find(unknown), None, "{unknown:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn whatever_is_accepted_is_what_was_written(text in "[a-c,\\x00 _A-]{0,24}") {
            let names = || text.split(',').map(str::trim).filter(|name| !name.is_empty());
            if let Ok(roles) = text.parse::<Roles>() {
                let extra: Vec<_> = roles.iter().skip(3).map(|role| role.to_string()).collect();
                assert_eq!(extra, names().collect::<Vec<_>>());
            } else {
                let mut seen = HashSet::new();
                assert!(names().any(|name| name.parse::<Role>().is_err() || !seen.insert(name)));
            }
        }
    }
}
