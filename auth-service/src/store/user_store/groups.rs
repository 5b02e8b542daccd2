//! Creates, lists and deletes groups, and lists memberships. A membership is changed like a user: see `changes`.

use super::{
    UserStore,
    audit::pending_rows::{insert_pending, insert_pending_of_members},
    encoding::encode_count,
    user_rows::push_admin_condition,
};
use crate::{
    audit::Requested,
    change::GroupChange,
    group::{Group, Member, UserGroup, to_names},
    principal::Principal,
    store::{
        StoreError, WriteError,
        locked_rows::{AdminCount, require_admin},
        write_error::NamingKey,
    },
    user::is_in_force,
};
use rolegate_proto::GroupName;
use rolegate_sql_store::{FollowUp, Statement};
use std::sync::Arc;

/// The columns of a [`Group`].
const GROUP_COLUMNS: &str = concat!(
    r#""group".id AS id, "group".name AS name,
    (SELECT count(*) FROM membership WHERE group_name = "group".name AND "#,
    is_in_force!(),
    ") AS members"
);

/// Continues a condition on `api_key`: the key names the group of `"group"`.
const NAMES_GROUP: &str = r#"api_key.group_names IS NOT NULL
    AND replace(',' || api_key.group_names || ',', ',' || "group".name || ',', '')
        <> ',' || api_key.group_names || ','"#;

/// Continues a condition: all of these groups exist. On PostgreSQL, none of them can be deleted before the transaction
/// ends. No name may be given twice.
pub(super) fn push_groups_exist(statement: Statement, groups: &[GroupName]) -> Statement {
    if groups.is_empty() {
        return statement;
    }
    statement
        .push(r#" AND (SELECT count(*) FROM (SELECT 1 FROM "group" WHERE name"#)
        .push_any(&to_names(groups))
        .push_key_share()
        .push(") AS found) = ")
        .push_bind(encode_count(groups.len()))
}

impl UserStore {
    /// Makes a change of a group, if the admin who makes it still is one, and records it. Returns the group; a deleted
    /// group as it was.
    pub(crate) async fn change_group(
        &self,
        request: Arc<Requested<GroupChange>>,
    ) -> Result<Group, WriteError> {
        match request.change {
            GroupChange::Create { name } => self.create_group(request, name).await,
            GroupChange::Delete { group_id } => self.delete_group(request, group_id).await,
        }
    }

    async fn create_group(
        &self,
        request: Arc<Requested<GroupChange>>,
        name: GroupName,
    ) -> Result<Group, WriteError> {
        let insert = self
            .database
            .statement(r#"INSERT INTO "group" (name) SELECT $1 WHERE true"#)
            .bind(name.as_str());
        let insert = push_actor_condition(insert, &request)
            .push(" ON CONFLICT (name) DO NOTHING RETURNING ")
            .push(GROUP_COLUMNS);
        let change = Arc::clone(&request);
        let record = self.record(move |group| vec![change.entry_for_group(group)], Vec::new());
        let created = self.database.write_with(insert, record).await?.pop();
        if created.is_none() {
            self.require_actor(&request.by).await?;
        }
        created.ok_or(WriteError::GroupTaken)
    }

    async fn delete_group(
        &self,
        request: Arc<Requested<GroupChange>>,
        group_id: i64,
    ) -> Result<Group, WriteError> {
        if let Some(deleted) = self.delete_unnamed_group(&request, group_id).await? {
            return Ok(deleted);
        }
        // One of the conditions did not hold. The reads below find out which one.
        self.require_actor(&request.by).await?;
        let found = self.group(group_id).await?;
        found.ok_or(WriteError::GroupNotFound)?;
        let keys = self.keys_naming_group(group_id).await?;
        if keys.is_empty() {
            // The last key that named the group is gone by now.
            return Box::pin(self.delete_group(request, group_id)).await;
        }
        Err(WriteError::GroupInUse(keys))
    }

    /// Deletes a group that no API key names, and records the end of each membership. The row of the group is locked
    /// first, so that no key that names the group and no membership is inserted meanwhile.
    async fn delete_unnamed_group(
        &self,
        request: &Arc<Requested<GroupChange>>,
        group_id: i64,
    ) -> Result<Option<Group>, StoreError> {
        let lock = self
            .database
            .statement(r#"SELECT id FROM "group" WHERE id = $1"#)
            .bind(group_id);
        // The update changes nothing. It returns the group only if no key names it.
        let touch = self
            .database
            .statement(r#"UPDATE "group" SET name = name WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM api_key WHERE "#)
            .bind(group_id)
            .push(NAMES_GROUP)
            .push(")");
        let touch = push_actor_condition(touch, request)
            .push(" RETURNING ")
            .push(GROUP_COLUMNS);
        let empty = self.database.statement("");
        let delete = self
            .database
            .statement(r#"DELETE FROM "group" WHERE id = $1"#)
            .bind(group_id);
        let request = Arc::clone(request);
        let follow_up = FollowUp::new(move |groups: &[Group]| {
            let Some(group) = groups.first() else {
                return Ok(Vec::new());
            };
            let removal = request.entry_for_removed_members(group);
            Ok(vec![
                insert_pending_of_members(empty.clone(), &removal, &group.name),
                insert_pending(empty.clone(), &[request.entry_for_group(group)]),
                delete.clone(),
            ])
        });
        let mut deleted = self.database.write_locked(lock, touch, follow_up).await?;
        Ok(deleted.pop())
    }

    /// Checks that the admin who makes a change still is one.
    async fn require_actor(&self, by: &Principal) -> Result<(), WriteError> {
        let Some(admin_id) = by.admin_id() else {
            return Ok(());
        };
        let found = self.users_by_id(&[admin_id], &[]).await?.value;
        require_admin(&found, Some(admin_id), admin_id, AdminCount::Kept)
    }

    /// Returns the API keys that name this group, by ascending id.
    async fn keys_naming_group(&self, group_id: i64) -> Result<Vec<NamingKey>, StoreError> {
        let select = self
            .database
            .statement(
                r#"SELECT api_key.name AS key, username FROM api_key JOIN "user" ON "user".id = user_id
                JOIN "group" ON "group".id = $1 WHERE "#,
            )
            .bind(group_id)
            .push(NAMES_GROUP)
            .push(" ORDER BY api_key.id");
        self.database.read(select).await
    }

    /// Returns the group with this id; `None` if there is none.
    pub(crate) async fn group(&self, group_id: i64) -> Result<Option<Group>, StoreError> {
        let select = self.select_groups().push("id = $1").bind(group_id);
        self.database.read_optional(select).await
    }

    /// Returns the group with this name; `None` if there is none.
    pub(crate) async fn group_named(&self, name: GroupName) -> Result<Option<Group>, StoreError> {
        let select = self.select_groups().push("name = $1").bind(name.as_str());
        self.database.read_optional(select).await
    }

    /// Returns a page of the groups after this id, by ascending id.
    pub(crate) async fn groups_after(&self, id: i64, limit: i64) -> Result<Vec<Group>, StoreError> {
        let select = self
            .select_groups()
            .push("id > $1 ORDER BY id LIMIT $2")
            .bind(id)
            .bind(limit);
        self.database.read(select).await
    }

    /// Returns the name of the group with this id; `None` if there is none.
    pub(crate) async fn group_name(&self, id: i64) -> Result<Option<String>, StoreError> {
        let select = self
            .database
            .statement(r#"SELECT name FROM "group" WHERE id = $1"#)
            .bind(id);
        self.database.read_optional(select).await
    }

    /// Returns those of these names that groups have, in ascending order.
    pub(crate) async fn existing_groups(
        &self,
        names: &[String],
    ) -> Result<Vec<String>, StoreError> {
        let select = self
            .database
            .statement(r#"SELECT name FROM "group" WHERE name"#)
            .push_any(names)
            .push(" ORDER BY name");
        self.database.read(select).await
    }

    /// Returns a page of the members of the group with this name after this user id, by ascending user id.
    pub(crate) async fn members_after(
        &self,
        group_name: &str,
        user_id: i64,
        limit: i64,
    ) -> Result<Vec<Member>, StoreError> {
        let select = self
            .database
            .statement(concat!(
                r#"SELECT user_id, username, membership.until AS until
                FROM membership JOIN "user" ON id = user_id
                WHERE group_name = $1 AND user_id > $2 AND "#,
                is_in_force!(),
                " ORDER BY user_id LIMIT $3"
            ))
            .bind(group_name)
            .bind(user_id)
            .bind(limit);
        self.database.read(select).await
    }

    /// Returns the groups that this user is in, by ascending id.
    pub(crate) async fn groups_of_user(&self, user_id: i64) -> Result<Vec<UserGroup>, StoreError> {
        let select = self
            .database
            .statement(concat!(
                r#"SELECT id, name, membership.until AS until
                FROM membership JOIN "group" ON name = group_name WHERE user_id = $1 AND "#,
                is_in_force!(),
                " ORDER BY id"
            ))
            .bind(user_id);
        self.database.read(select).await
    }

    fn select_groups(&self) -> Statement {
        self.database
            .statement("SELECT ")
            .push(GROUP_COLUMNS)
            .push(r#" FROM "group" WHERE "#)
    }
}

/// Appends the condition that the admin who makes the change still is one. The operator has no condition.
fn push_actor_condition(statement: Statement, request: &Requested<GroupChange>) -> Statement {
    match request.by.admin_id() {
        Some(admin_id) => push_admin_condition(statement, admin_id),
        None => statement,
    }
}
