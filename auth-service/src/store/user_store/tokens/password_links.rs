//! Statements that insert, replace and delete password links.

use crate::store::user_store::{UserStore, encoding::encode_seconds};
use crate::tokens::NewPasswordLink;
use rolegate_sql_store::Statement;

impl UserStore {
    /// Returns the statement that inserts the link of a new user. The same transaction inserts the user, so the
    /// statement looks up the id by the name.
    pub(in crate::store::user_store) fn insert_link_of_new_user(
        &self,
        username: &str,
        link: NewPasswordLink,
    ) -> Statement {
        self.database
            .statement(
                r#"INSERT INTO password_link (user_id, digest, expires_at)
            SELECT id, $2, $3 FROM "user" WHERE username = $1"#,
            )
            .bind(username)
            .bind(link.digest)
            .bind(encode_seconds(link.expires_at))
    }

    /// Returns the statement that inserts a link of a user, or replaces the user's earlier link.
    pub(in crate::store::user_store) fn replace_link(
        &self,
        user_id: i64,
        link: NewPasswordLink,
    ) -> Statement {
        self.database
            .statement(
                "INSERT INTO password_link (user_id, digest, expires_at) VALUES ($1, $2, $3)
            ON CONFLICT (user_id) DO UPDATE
            SET digest = excluded.digest, expires_at = excluded.expires_at",
            )
            .bind(user_id)
            .bind(link.digest)
            .bind(encode_seconds(link.expires_at))
    }

    pub(in crate::store::user_store) fn end_link(&self, user_id: i64) -> Statement {
        self.database
            .statement("DELETE FROM password_link WHERE user_id = $1")
            .bind(user_id)
    }
}
