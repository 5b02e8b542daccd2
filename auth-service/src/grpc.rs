//! Serves the contract `rolegate.auth.v1` and Envoy's `ext_authz` over gRPC, on top of the use cases in
//! `accounts`.
//!
//! Each method of the contract is a method of [`AuthGrpc`] in the file of its topic, which also registers it:
//! `logins`, `authorize`, `users`, `passwords`, `second_factor`, `api_keys`, `sessions` and `audit` (the record,
//! and the changes of users). It gets the [`rolegate_grpc_server::Call`], which has the credential of the actor, the
//! client address and the deadline, and the message. It calls a use case and returns the response. `message`
//! converts values of the use cases into messages, and their errors into gRPC statuses.
//!
//! `user_changes` is the stream of `WatchUsers`. `ext_authz` is the method by which Envoy asks whether a request
//! may pass.
//!
//! Nothing is decided here: the rules are in `accounts`. Connections, TLS, the request context and the metrics
//! of calls are in `rolegate_grpc_server`.

mod api_keys;
mod audit;
mod authorize;
pub(crate) mod ext_authz;
mod logins;
mod message;
mod passwords;
mod second_factor;
mod sessions;
mod user_changes;
mod users;

use crate::accounts::{AccountError, Services};
use rolegate_grpc_server::Methods;
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

    /// Returns the methods of all topics.
    pub(crate) fn methods() -> Methods<Self> {
        Methods::default()
            .with(Self::add_login_methods)
            .with(Self::add_decision_methods)
            .with(Self::add_user_methods)
            .with(Self::add_password_methods)
            .with(Self::add_second_factor_methods)
            .with(Self::add_api_key_methods)
            .with(Self::add_session_methods)
            .with(Self::add_record_methods)
            .with(Self::add_envoy_methods)
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
