//! Groups the operations by their paths, and describes the groups for `/docs`.

use super::operations::operations_at;
use std::collections::BTreeSet;
use utoipa::openapi::{OpenApi, tag::TagBuilder};

const ACCOUNTS: &str = "Accounts";
const API_KEYS: &str = "API keys";
const ACCESS: &str = "Access";
const USERS: &str = "Users";
const POSTS: &str = "Posts";

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
    (USERS, "Manage users and groups as an admin."),
    (POSTS, "Read posts, and write them as an author."),
];

/// Returns the group of the operations at a path.
fn tag_of(path: &str) -> &'static str {
    match path.split('/').nth(1).unwrap_or_default() {
        _ if path.contains("/keys") => API_KEYS,
        "users" | "roles" | "groups" => USERS,
        "posts" => POSTS,
        "profile" | "register" | "login" | "logout" | "me" | "sessions" | "password" => ACCOUNTS,
        _ => ACCESS,
    }
}

/// Gives each operation of the document the tag of its path, and adds these tags with their descriptions.
pub(super) fn add_tags(document: &mut OpenApi) {
    let mut used = BTreeSet::new();
    for (path, item) in &mut document.paths.paths {
        let tag = tag_of(path);
        used.insert(tag);
        for operation in operations_at(item) {
            operation.tags = Some(vec![tag.to_owned()]);
        }
    }
    let mut tags = Vec::new();
    for (name, description) in TAGS {
        if used.contains(name) {
            let tag = TagBuilder::new().name(name);
            tags.push(tag.description(Some(description)).build());
        }
    }
    document.tags = Some(tags);
}
