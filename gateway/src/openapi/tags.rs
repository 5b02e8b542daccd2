//! Describes the groups of operations in `/docs`.

use super::operations::operations;
use utoipa::openapi::{OpenApi, tag::TagBuilder};

pub(crate) const ACCOUNTS: &str = "Accounts";
pub(crate) const API_KEYS: &str = "API keys";
pub(crate) const ACCESS: &str = "Access";
pub(crate) const USERS: &str = "Users";
pub(crate) const POSTS: &str = "Posts";

/// The names and descriptions of the groups, in the order of `/docs`. The groups that a new user needs come first.
const TAGS: [(&str, &str); 5] = [
    (ACCOUNTS, "Register, log in, and manage your own account."),
    (
        API_KEYS,
        "Create credentials for programs that act as a user.",
    ),
    (
        ACCESS,
        "Endpoints that show which callers are admitted, and other general endpoints.",
    ),
    (USERS, "Manage users as an admin."),
    (POSTS, "Read posts, and write them as an author."),
];

/// Adds the tags that operations of the document have, with their descriptions.
pub(super) fn describe_tags(document: &mut OpenApi) {
    let used: Vec<_> = operations(document)
        .filter_map(|operation| operation.tags.clone())
        .flatten()
        .collect();
    let mut tags = Vec::new();
    for (name, description) in TAGS {
        if used.iter().any(|tag| tag == name) {
            let tag = TagBuilder::new().name(name);
            tags.push(tag.description(Some(description)).build());
        }
    }
    document.tags = Some(tags);
}
