//! Checks access control: every operation of both `/openapi.json` documents is called by every kind
//! of caller.
//!
//! The documents decide what is called and what is expected. An operation without `security` is
//! public. The 403 of a protected operation names in backticks the roles that it admits, and its
//! 2xx is the status of success. [`samples`] adds what a document cannot know: ids and bodies. The
//! test fails if an operation has no sample or a sample has no operation.

mod caller;
mod samples;

use caller::Kind;
use e2e::{Api, TestResponse, TestSetup, for_two_deployments, proof};
use reqwest::Method;
use samples::{Id, Others, SAMPLES};
use serde_json::{Value, json};
use std::collections::BTreeSet;

for_two_deployments!(each_documented_operation_admits_exactly_its_documented_callers);

/// Operations that answer 400 even to callers who are admitted, because no caller has turned on a
/// second factor.
const NEEDS_A_SECOND_FACTOR: [&str; 2] = [
    "PUT /profile/second-factor",
    "DELETE /profile/second-factor",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Variant {
    Bearer,
    Basic,
}

/// An operation of an OpenAPI document, and what the document says about access to it.
struct Operation {
    /// The method and the path template, such as `GET /users/{user_id}`.
    name: String,
    is_protected: bool,
    /// The roles that are admitted. `None` where any authenticated user is admitted.
    roles: Option<BTreeSet<String>>,
    /// Whether the 403 also applies to API keys.
    needs_person: bool,
    success: u16,
}

impl Operation {
    fn parse(method: &str, path: &str, operation: &Value) -> Self {
        let name = format!("{} {path}", method.to_ascii_uppercase());
        let responses = operation["responses"].as_object().expect("responses");
        let success = responses
            .keys()
            .find_map(|status| status.strip_prefix('2')?.parse().ok());
        let success: u16 = success.unwrap_or_else(|| panic!("{name} has no 2xx response"));
        let is_protected = operation["security"] != json!([]);
        // Public operations can answer 403, too: that is the answer to a registration while
        // registration is closed.
        let roles = responses
            .get("403")
            .filter(|_| is_protected)
            .map(|forbidden| {
                let description = forbidden["description"].as_str().unwrap_or_default();
                let quoted = description.split('`').skip(1).step_by(2);
                let is_role = |word: &&str| ["user", "author", "admin"].contains(word);
                let roles: BTreeSet<_> = quoted.filter(is_role).map(str::to_owned).collect();
                assert!(
                    !roles.is_empty(),
                    "the 403 of {name} names no `role`: {description}"
                );
                roles
            });
        let forbidden = responses
            .get("403")
            .and_then(|it| it["description"].as_str());
        let needs_person = forbidden.is_some_and(|description| description.contains("API key"));
        let is_refused = NEEDS_A_SECOND_FACTOR.contains(&&*name);
        let success = if is_refused { 400 } else { 200 + success };
        Self {
            name,
            is_protected,
            roles,
            needs_person,
            success,
        }
    }

    fn ends_tokens(&self) -> bool {
        ["POST /logout", "PUT /profile/password"].contains(&&*self.name)
    }

    fn expect(&self, response: &TestResponse, variant: Variant, kind: Kind, id: Id) {
        let (unauthenticated, challenge) = match (variant, kind) {
            (Variant::Bearer, Kind::NoCredentials) => ("Not authenticated.", "Bearer"),
            (Variant::Bearer, _) => (
                "Invalid or expired token.",
                "Bearer error=\"invalid_token\"",
            ),
            (Variant::Basic, Kind::NoCredentials) => ("Not authenticated.", "Basic"),
            (Variant::Basic, _) => ("Invalid username or password.", "Basic"),
        };
        let is_anonymous = [Kind::NoCredentials, Kind::BadCredentials].contains(&kind);
        if self.is_protected && is_anonymous {
            response.expect_detail(401, unauthenticated);
            response.expect_header("www-authenticate", Some(challenge));
            return;
        }
        let has_role = self
            .roles
            .as_ref()
            .is_none_or(|roles| roles.contains(kind.role()));
        // An author may change only their own posts. The document says so in prose, which this test
        // does not read.
        let is_others = self.is_protected && matches!(id, Id::OthersPost) && kind == Kind::Author;
        let is_key = variant == Variant::Bearer && kind == Kind::AdminKey;
        if self.is_protected && (!has_role || is_others || (self.needs_person && is_key)) {
            response.expect_detail(403, "Insufficient privileges.");
        } else {
            response.expect(self.success);
        }
        response.expect_header("www-authenticate", None);
    }
}

/// Returns the operations that the OpenAPI document of this address describes.
async fn documented(api: &Api, variant: Variant) -> Vec<Operation> {
    let document = api.get("/openapi.json").await.expect(200).json();
    let scheme = if variant == Variant::Bearer {
        "bearer"
    } else {
        "basic"
    };
    let schemes = &document["components"]["securitySchemes"];
    assert!(schemes.get(scheme).is_some(), "{schemes}");
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().expect("paths") {
        let methods = item.as_object().expect("operations");
        operations.extend(
            methods
                .iter()
                .map(|(method, it)| Operation::parse(method, path, it)),
        );
    }
    // Operations that end the caller's tokens come last, and each of them gets callers of its own.
    operations.sort_by_key(Operation::ends_tokens);
    operations
}

pub(crate) async fn each_documented_operation_admits_exactly_its_documented_callers(
    setup: TestSetup,
) {
    let app = setup.start().await;
    let others = Others::create(&app).await;
    let mut callers = caller::create_all(&app, "some").await;
    let (mut called, mut calls, mut refused) = (BTreeSet::new(), 0, 0);
    for (variant, address) in [(Variant::Bearer, &app.bearer), (Variant::Basic, &app.basic)] {
        for operation in documented(address, variant).await {
            if operation.ends_tokens() {
                callers = caller::create_all(&app, &operation.name.replace('/', "")).await;
            }
            let samples = SAMPLES.iter().filter(|(name, ..)| *name == operation.name);
            let samples: Vec<_> = samples.collect();
            assert!(
                !samples.is_empty(),
                "SAMPLES has none of {}",
                operation.name
            );
            for ((name, id, body), caller) in samples
                .iter()
                .flat_map(|&sample| callers.iter().map(move |it| (sample, it)))
            {
                let id_in_path = id.create(&app, caller, &others).await;
                let api = if variant == Variant::Bearer {
                    &caller.bearer
                } else {
                    &caller.basic
                };
                let body = body.json(&app, caller, &others).await;
                let mut response = call(api, name, &id_in_path, body).await;
                response.request = format!("{} by {:?}", response.request, caller.kind);
                operation.expect(&response, variant, caller.kind, *id);
                calls += 1;
                refused += usize::from([401, 403].contains(&response.status));
            }
            called.insert(operation.name);
        }
    }
    let samples: BTreeSet<_> = SAMPLES
        .iter()
        .map(|(name, ..)| (*name).to_owned())
        .collect();
    assert_eq!(called, samples, "left: documented, right: in SAMPLES");
    let seen = [
        ("refused as documented", refused),
        ("admitted as documented", calls - refused),
    ];
    proof(
        "access",
        &[("calls of every operation by every kind of caller", calls)],
        &seen,
    );
}

async fn call(api: &Api, operation: &str, id: &str, body: Option<Value>) -> TestResponse {
    let (method, template) = operation.split_once(' ').expect("a method and a path");
    let mut ids = id.split(' ');
    let fill = |segment| match segment {
        "{user_id}" | "{id}" | "{key_id}" | "{session_id}" | "{group_id}" => {
            ids.next().expect("an id for each parameter")
        }
        segment => segment,
    };
    let path = template.split('/').map(fill).collect::<Vec<_>>().join("/");
    let request = api.request(method.parse::<Method>().expect("a method"), &path);
    api.send(match body {
        Some(body) => request.json(&body),
        None => request,
    })
    .await
}
