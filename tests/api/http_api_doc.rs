//! Runs the examples of `docs/http-api.md` in bash, in their order, and compares the output with
//! the page.

mod comparison;

use comparison::{abbreviates, fields, stands_for};
use e2e::{ADMIN_PASSWORD, Api, TestApp, TestSetup, for_two_deployments};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs, path::Path};
use tokio::process::Command;

for_two_deployments!(every_endpoint_has_an_example_that_works);

/// A shell function in place of `oathtool --totp -b SECRET`, which prints the current code (RFC
/// 6238).
const OATHTOOL: &str = r#"oathtool() {
  key=$(base32 -d <<< "$3" | od -An -v -tx1 | tr -d ' \n')
  mac=$(printf "$(printf %016x $(($(date +%s) / 30)) | sed 's/../\\x&/g')" |
    openssl dgst -sha1 -mac HMAC -macopt "hexkey:$key" | sed 's/.* //')
  printf '%06d\n' $(((0x${mac:0x${mac:39} * 2:8} & 0x7fffffff) % 1000000))
}
"#;

/// The commands of an example, and the output that the page shows for them.
#[derive(Default)]
struct Example {
    commands: String,
    shown: String,
}

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/http-api.md");
    fs::read_to_string(path).expect("the page")
}

/// Splits the page into examples. A line that begins with `# ` is output and ends an example.
fn examples(page: &str) -> Vec<Example> {
    let blocks = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let mut examples = vec![Example::default()];
    for line in blocks.flat_map(str::lines) {
        let is_next = examples.last().is_some_and(|it| !it.shown.is_empty());
        match line.strip_prefix("# ") {
            None if is_next => {
                examples.push(Example {
                    commands: format!("{line}\n"),
                    ..Example::default()
                });
            }
            output => {
                let example = examples.last_mut().expect("never empty");
                match output {
                    Some(output) => example.shown += output.trim(),
                    None => example.commands.extend([line, "\n"]),
                }
            }
        }
    }
    examples
}

/// Runs all examples in one shell against `app`. Returns what each prints.
async fn run(examples: &[Example], app: &TestApp) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("data")).expect("a folder");
    fs::write(
        folder.path().join("data/initial-admin-password"),
        ADMIN_PASSWORD,
    )
    .expect("a file");
    let commands = examples
        .iter()
        .map(|it| format!("{}printf '\\036'\n", it.commands));
    let mut script = OATHTOOL.to_owned() + &commands.collect::<String>();
    for (documented, listener) in [("8000", "bearer"), ("8001", "basic"), ("8002", "forward")] {
        let address = app.gateway().address(listener);
        script = script.replace(&format!("http://127.0.0.1:{documented}"), &address);
    }
    let mut bash = Command::new("bash");
    bash.env_remove("TOKEN")
        .env("NO_PROXY", "*")
        .current_dir(folder.path());
    let output = bash.args(["-c", &script]).output().await.expect("bash");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.is_empty(), "{errors}");
    let printed = String::from_utf8(output.stdout).expect("text");
    printed
        .split_terminator('\x1e')
        .map(|text| text.lines().collect())
        .collect()
}

/// Splits the output of `api` and `basic` into the body and the status.
fn body_and_status(output: &str) -> Option<(Value, &str)> {
    let (body, status) = output.rsplit_once(' ')?;
    Some((serde_json::from_str(body).ok()?, status))
}

/// A request of an example, with the roles in the comment behind it.
struct Request<'a> {
    method: &'a str,
    path: &'a str,
    roles: &'a str,
}

/// Returns the request whose response the page shows, which is the last command of the example.
fn request<'a>(function: &str, commands: &'a str) -> Option<Request<'a>> {
    let line = commands.lines().last()?.strip_prefix(function)?;
    let (request, roles) = line.split_once("    # ").expect("roles behind a request");
    let mut words = request.split_whitespace();
    let method = words.next()?;
    let path = words.next()?.trim_matches('\'').split('?').next()?;
    Some(Request {
        method,
        path,
        roles,
    })
}

/// Returns the roles that the document names in the description of the 403.
fn documented_roles(operation: &Value) -> String {
    let refusal = operation["responses"]["403"]["description"]
        .as_str()
        .unwrap_or_default();
    let is_named = |role: &&str| refusal.contains(&format!("`{role}`"));
    let named: Vec<_> = ["user", "author", "admin"]
        .into_iter()
        .filter(is_named)
        .collect();
    let no_key = if refusal.contains("an API key") {
        ", no API key"
    } else {
        ""
    };
    let is_public = operation["security"] == json!([]);
    match (is_public, &named[..]) {
        (true, _) => "public".to_owned(),
        (_, [] | ["user", ..]) => format!("any user{no_key}"),
        _ => format!("{}{no_key}", named.join(", ")),
    }
}

fn matches(template: &str, path: &str) -> bool {
    let (template, path): (Vec<_>, Vec<_>) =
        (template.split('/').collect(), path.split('/').collect());
    let is_match = |(part, segment): (&&str, &&str)| part.starts_with('{') || part == segment;
    template.len() == path.len() && template.iter().zip(&path).all(is_match)
}

/// Asserts that the requests of `function` are exactly the operations of `api`, and that their
/// responses have the fields of their schemas.
async fn check_operations(function: &str, examples: &[Example], api: &Api) {
    let document = api.get("/openapi.json").await.expect(200).json();
    let mut undocumented = BTreeSet::new();
    for (template, item) in document["paths"].as_object().expect("paths") {
        let methods = item.as_object().expect("operations").keys();
        undocumented.extend(methods.map(|method| (template.as_str(), method.as_str())));
    }
    for example in examples {
        let Some(Request {
            method,
            path,
            roles,
        }) = request(function, &example.commands)
        else {
            continue;
        };
        let method = method.to_lowercase();
        let operation = undocumented
            .iter()
            .find(|it| it.1 == method && matches(it.0, path));
        let operation = *operation.unwrap_or_else(|| panic!("{method} {path}: unknown, or twice"));
        undocumented.remove(&operation);
        let operation = &document["paths"][operation.0][operation.1];
        assert_eq!(roles, documented_roles(operation), "{method} {path}");
        let (body, status) = body_and_status(&example.shown).expect("JSON and a status");
        assert!(status.starts_with('2'), "{method} {path}: {status}");
        let schema = &operation["responses"][status]["content"]["application/json"]["schema"];
        let [all, required] = fields(&document, schema);
        let shown: Vec<_> = body
            .as_object()
            .expect("an object")
            .keys()
            .map(String::as_str)
            .collect();
        assert!(
            shown.iter().all(|name| all.contains(name)),
            "{method} {path}: {shown:?}, {all:?}"
        );
        let is_complete = required.iter().all(|name| shown.contains(name));
        assert!(is_complete, "{method} {path}: {shown:?}, {required:?}");
    }
    assert!(
        undocumented.is_empty(),
        "no example of {function}: {undocumented:?}"
    );
}

async fn every_endpoint_has_an_example_that_works(setup: TestSetup) {
    let app = setup.start().await;
    let page = page();
    let examples = examples(&page);
    let printed = run(&examples, &app).await;
    assert_eq!(printed.len(), examples.len());
    for (Example { commands, shown }, printed) in examples.iter().zip(&printed) {
        let is_right = match (body_and_status(shown), body_and_status(printed)) {
            (Some((shown, status)), Some((real, real_status))) => {
                stands_for(&shown, &real) && status == real_status
            }
            _ => abbreviates(shown, printed),
        };
        assert!(is_right, "{commands}shown:   {shown}\nprinted: {printed}");
    }
    check_operations("api ", &examples, &app.bearer).await;
    check_operations("basic ", &examples, &app.basic).await;
}
