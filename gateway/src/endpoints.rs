//! One file per endpoint (one for the fixed messages, and two for API keys): its handler, request and response bodies, and OpenAPI annotation.
//!
//! The route tables guard routes by role before the body is read; auth-service and posts-service
//! check the actor again.

mod api_key_response;
pub(crate) mod change_password;
pub(crate) mod create_api_key;
pub(crate) mod create_post;
pub(crate) mod create_user;
pub(crate) mod delete_post;
pub(crate) mod delete_user;
pub(crate) mod fixed_message;
pub(crate) mod get_post;
pub(crate) mod get_user;
pub(crate) mod list_posts;
pub(crate) mod list_users;
pub(crate) mod login;
pub(crate) mod logout;
mod message;
pub(crate) mod own_api_keys;
mod password_schema;
mod post_request;
mod post_response;
pub(crate) mod profile;
pub(crate) mod protected;
pub(crate) mod register;
pub(crate) mod revoke_tokens;
mod role_name;
pub(crate) mod set_password;
pub(crate) mod set_user_role;
pub(crate) mod update_post;
pub(crate) mod update_user;
pub(crate) mod user_api_keys;
mod user_response;
