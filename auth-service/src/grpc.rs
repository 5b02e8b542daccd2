//! Serves the contract `rolegate.auth.v1` and Envoy's `ext_authz` over gRPC, on top of the use cases in
//! `accounts`.
//!
//! [`AuthGrpc::methods`] lists the methods of the contract. Each is a method of [`AuthGrpc`] in the file of its
//! topic: `logins`, `authorize`, `users`, `groups`, `passwords`, `second_factor`, `api_keys`, `sessions`, `audit`
//! (the record) and `user_changes` (the stream of changes). It gets the message and the [`rolegate_grpc_server::Call`], which has
//! the credential of the actor, the client address and the deadline. It calls a use case and returns the response.
//! `message` converts values of the use cases into messages, and their errors into gRPC statuses.
//!
//! `ext_authz` is the method by which Envoy asks whether a request may pass.
//!
//! Nothing is decided here: the rules are in `accounts`. Connections, TLS, the request context and the metrics
//! of calls are in `rolegate_grpc_server`.

mod api_keys;
mod audit;
mod authorize;
pub(crate) mod ext_authz;
mod groups;
mod logins;
mod message;
mod passwords;
mod second_factor;
mod sessions;
mod user_changes;
mod users;

use crate::accounts::{AccountError, Services};
use rolegate_grpc_server::{MAX_LONG_MESSAGE, Methods};
use rolegate_sign_in::sign_in::SignIn;

/// The outcome of a call: its response, or the error of the use case.
type RpcResult<T> = Result<T, AccountError>;

/// Implements `rolegate.auth.v1.AuthService`, and the authorization service of Envoy.
pub(crate) struct AuthGrpc {
    services: Services,
    /// The settings of the sign-in page, for requests that Envoy asks about; `None` if there is no such page.
    sign_in: Option<SignIn>,
    /// The DNS names in certificates of services that may follow the changes of users.
    watchers: Vec<String>,
}

impl AuthGrpc {
    pub(crate) fn new(services: Services, sign_in: Option<SignIn>, watchers: Vec<String>) -> Self {
        Self {
            services,
            sign_in,
            watchers,
        }
    }

    /// Returns the methods of all topics. Batches with credentials may be longer than other messages, and so may the
    /// checks of Envoy, which contain all headers of a request and some of them several times.
    pub(crate) fn methods() -> Methods<Self> {
        Methods::default()
            .unary(Self::register)
            .unary(Self::login)
            .unary(Self::verify_credentials)
            .unary_with_limit(MAX_LONG_MESSAGE, Self::batch_verify_credentials)
            .unary(Self::create_session)
            .unary(Self::authorize)
            .unary_with_limit(MAX_LONG_MESSAGE, Self::batch_authorize)
            .unary(Self::get_current_user)
            .unary(Self::create_user)
            .unary(Self::get_user)
            .unary(Self::list_users)
            .unary(Self::batch_get_users)
            .unary(Self::set_user_role)
            .unary(Self::set_user_disabled)
            .unary(Self::update_user)
            .unary(Self::delete_user)
            .unary(Self::list_roles)
            .unary(Self::create_group)
            .unary(Self::list_groups)
            .unary(Self::get_group)
            .unary(Self::delete_group)
            .unary(Self::list_members)
            .unary(Self::set_membership)
            .unary(Self::delete_membership)
            .unary(Self::list_user_groups)
            .unary(Self::set_password)
            .unary(Self::change_password)
            .unary(Self::create_password_link)
            .unary(Self::redeem_password_link)
            .unary(Self::get_password_link)
            .unary(Self::get_password_policy)
            .unary(Self::enrol_second_factor)
            .unary(Self::enable_second_factor)
            .unary(Self::disable_second_factor)
            .unary(Self::get_second_factor)
            .unary(Self::create_api_key)
            .unary(Self::list_api_keys)
            .unary(Self::delete_api_keys)
            .unary(Self::revoke_tokens)
            .unary(Self::list_sessions)
            .unary(Self::delete_sessions)
            .unary(Self::list_audit)
            .stream(Self::watch_users)
            .unary_with_limit(MAX_LONG_MESSAGE, Self::check)
    }
}

#[cfg(test)]
mod tests {
    use super::AuthGrpc;
    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use rolegate_proto::AUTH_DESCRIPTORS;
    use std::collections::BTreeSet;

    #[test]
    fn every_method_of_the_contract_has_a_handler() {
        let descriptors = FileDescriptorSet::decode(AUTH_DESCRIPTORS).expect("descriptors");
        let mut declared = BTreeSet::new();
        for file in &descriptors.file {
            for service in &file.service {
                let service_path = format!("/{}.{}", file.package(), service.name());
                let methods = service.method.iter();
                declared.extend(methods.map(|method| format!("{service_path}/{}", method.name())));
            }
        }
        let registered: BTreeSet<_> = AuthGrpc::methods()
            .paths()
            .filter(|path| path.starts_with("/rolegate."))
            .map(str::to_owned)
            .collect();
        assert_eq!(registered, declared);
    }
}
