//! One file per endpoint, named as the route table names it.

pub(crate) mod admin;
pub(crate) mod author;
pub(crate) mod index;
pub(crate) mod list_users;
pub(crate) mod login;
pub(crate) mod profile;
pub(crate) mod protected;
pub(crate) mod public;
pub(crate) mod register;
pub(crate) mod set_user_role;
mod user_list_query;
