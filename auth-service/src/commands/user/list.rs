//! `user list`: prints the users that match filters, one on each line.

use super::{
    keys::keys_of_user,
    operator::Operator,
    show::{print_heading, print_user},
};
use crate::{
    commands::{group::find, timestamp::parse_time},
    search_key::search_words,
    store::{RoleFilter, StoreError, UserCursor, UserFilter, UserOrder},
};
use clap::Args;
use rolegate_program::{failure::Failure, output::print};
use rolegate_proto::{GroupName, Role};

/// The maximum number of users that one statement reads.
const PAGE_USERS: i64 = 1000;

/// The names of the orders. A `-` before a name reverses the order.
const ORDERS: [(&str, UserOrder); 4] = [
    ("id", UserOrder::Id),
    ("username", UserOrder::Username),
    ("last_sign_in_at", UserOrder::LastLogin),
    ("until", UserOrder::Until),
];

/// Selects the users to list. A user must match all filters.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// List only users who have this role or an API key with it; it may be a role that was removed from
    /// `EXTRA_ROLES`
    #[arg(long)]
    role: Option<Role>,
    /// Sort by `id`, `username`, `last_sign_in_at` or `until`; `-id` sorts descending
    #[arg(long, default_value = "id", value_parser = parse_order, allow_hyphen_values = true)]
    sort: SortOrder,
    /// List only users whose name contains these words, in any order, ignoring case and accents
    #[arg(long, default_value = "", hide_default_value = true)]
    search: String,
    /// List only users whose name begins with this text
    #[arg(long, default_value = "", hide_default_value = true)]
    username: String,
    /// List only users who are disabled (true) or are not (false)
    #[arg(long)]
    disabled: Option<bool>,
    /// List only users whose second factor is on (true) or off (false)
    // The name `second_factor` is that of a setting.
    #[arg(long)]
    has_second_factor: Option<bool>,
    /// List only users who have a password (true) or have yet to choose one (false)
    #[arg(long)]
    has_password: Option<bool>,
    /// List only users who are in this group
    #[arg(long)]
    group: Option<GroupName>,
    /// List only users who have not signed in with a password since this time, such as 2026-03-01 or
    /// 2026-03-01T00:00:00Z
    #[arg(long, value_parser = parse_time)]
    not_since: Option<i64>,
    /// List only users whose account ends before this time
    #[arg(long, value_parser = parse_time)]
    ends_before: Option<i64>,
    /// Print only the number of users
    #[arg(long)]
    total: bool,
}

#[derive(Clone, Copy, Debug)]
struct SortOrder {
    order: UserOrder,
    descending: bool,
}

fn parse_order(text: &str) -> Result<SortOrder, String> {
    let name = text.strip_prefix('-');
    let descending = name.is_some();
    let name = name.unwrap_or(text);
    let order = ORDERS
        .into_iter()
        .find_map(|(known, order)| (known == name).then_some(order))
        .ok_or("must be id, username, last_sign_in_at or until")?;
    Ok(SortOrder { order, descending })
}

/// Prints the users, or only their number. Fails if the role or the group is unknown. No read of the database stays open
/// while it prints, because the reader of the output may be slow.
pub(super) async fn run(operator: &Operator, arguments: ListArguments) -> Result<(), Failure> {
    let role = arguments.role;
    if let Some(role) = role {
        require_known_role(operator, role).await?;
    }
    if let Some(group) = arguments.group {
        find(operator, group.as_str()).await?;
    }
    let mut filter = arguments.filter();
    if arguments.total {
        complete_search_keys(operator, &filter).await?;
        print(&operator.store.count(&filter).await?.to_string());
        return Ok(());
    }
    print_heading(operator);
    loop {
        complete_search_keys(operator, &filter).await?;
        let users = operator.store.list(&filter).await?;
        for listed in &users {
            let keys_with_role = match role {
                Some(role) if role != listed.user.role => {
                    count_keys(operator, listed.user.id, role).await?
                }
                _ => 0,
            };
            print_user(operator, listed, keys_with_role);
        }
        let Some(last) = users.last() else {
            return Ok(());
        };
        filter.after = Some(UserCursor::of_user(last, filter.order));
    }
}

impl ListArguments {
    fn filter(&self) -> UserFilter {
        UserFilter {
            order: self.sort.order,
            descending: self.sort.descending,
            after: None,
            limit: PAGE_USERS,
            username_prefix: self.username.clone(),
            role: self.role.map(RoleFilter::UserOrApiKey),
            disabled: self.disabled,
            search: search_words(&self.search),
            second_factor: self.has_second_factor,
            has_password: self.has_password,
            group: self.group,
            not_since: self.not_since,
            ends_before: self.ends_before,
        }
    }
}

/// Writes the missing search keys if the list needs them.
async fn complete_search_keys(operator: &Operator, filter: &UserFilter) -> Result<(), StoreError> {
    while filter.reads_search_keys() && !operator.store.write_search_keys().await? {}
    Ok(())
}

/// Fails if this service does not have the role, and no stored user or key has it either.
async fn require_known_role(operator: &Operator, role: Role) -> Result<(), Failure> {
    let in_use = operator.store.roles_in_use().await?;
    let is_used = in_use.iter().any(|usage| usage.role == role.as_str());
    if is_used || operator.roles.contains(&role) {
        return Ok(());
    }
    Err(operator.roles.unknown_role().into())
}

async fn count_keys(operator: &Operator, user_id: i64, role: Role) -> Result<usize, StoreError> {
    let keys = keys_of_user(operator, user_id).await?;
    Ok(keys.iter().filter(|key| key.role() == Some(role)).count())
}
