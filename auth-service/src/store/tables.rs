//! The schema of the database of users, as a list of migrations, and the statements that the store and an inspection of
//! the database share.

use rolegate_sql_store::{Tables, migrations, row};

/// The tables of auth-service. Applied migrations must not change, not even their comments, because their digests are
/// stored.
pub(super) const TABLES: Tables = Tables {
    owner: "auth-service",
    marker_table: "user",
    schema: None,
    migrations: migrations!(
        1 "user" "0001_user",
        2 "tokens not before" "0002_tokens_not_before",
        3 "disabled" "0003_disabled",
        4 "api key" "0004_api_key",
        5 "clock" "0005_clock",
        6 "role" "0006_role",
        7 "session" "0007_session",
        8 "user times" "0008_user_times",
        9 "audit" "0009_audit",
        10 "second step" "0010_second_step",
        11 "record limits" "0011_record_limits",
        12 "wrong codes" "0012_wrong_codes",
        13 "usage pauses" "0013_usage_pauses",
        14 "cookie session" "0014_cookie_session",
        15 "former username" "0015_former_username",
        16 "pending sign-in" "0016_pending_sign_in",
        17 "group" "0017_group",
        18 "search key" "0018_search_key",
        19 "indexes of lists of users" "0019_user_list_indexes"
    ),
};

row! {
    /// The number of users or of API keys that have a role. A role may have two of these rows: one for its users, and
    /// one for its keys.
    #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub struct RoleUsage {
        /// The name of the role. The settings may no longer have a role of this name.
        pub role: String,
        /// The number of users who have the role.
        pub users: i64,
        /// The number of API keys that have the role.
        pub api_keys: i64,
    }
}

/// Selects the stored roles as rows of [`RoleUsage`], by name. Each row counts either the users or the API keys that have
/// the role.
pub(super) const ROLES_IN_USE: &str = r#"SELECT role, count(*) AS users, 0 AS api_keys FROM "user" GROUP BY role UNION ALL
    SELECT role, 0, count(*) FROM api_key WHERE role IS NOT NULL GROUP BY role ORDER BY 1"#;

/// Selects the ids of the keys that encrypt the secrets of all second factors that are on.
pub(super) const SECOND_FACTOR_KEY_IDS: &str = r#"SELECT DISTINCT substr(secret, 1, 12) FROM second_factor
    WHERE user_id IN (SELECT id FROM "user" WHERE second_factor)"#;
