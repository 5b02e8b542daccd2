//! Writes the code and the descriptors of all contracts to a folder, which is the only argument. The contracts are read
//! from the current folder. The code of a contract has the messages, the client, and which message requests
//! which method.

use prost::Message as _;
use prost_types::FileDescriptorSet;
use std::{collections::BTreeMap, env, error::Error, fmt::Write as _, fs, path::PathBuf};

/// The contracts, each with the file for its descriptors if server reflection needs them.
const CONTRACTS: [(&str, Option<&str>); 3] = [
    ("rolegate/auth/v1/auth.proto", Some("auth.bin")),
    ("rolegate/posts/v1/posts.proto", Some("posts.bin")),
    ("envoy/service/auth/v3/external_auth.proto", None),
];

fn main() -> Result<(), Box<dyn Error>> {
    let folder = PathBuf::from(
        env::args_os()
            .nth(1)
            .ok_or("usage: proto-generator FOLDER")?,
    );
    for (file, descriptors_file) in CONTRACTS {
        let descriptors = protox::compile([file], ["."])?;
        if let Some(name) = descriptors_file {
            fs::write(folder.join(name), descriptors.encode_to_vec())?;
        }
        let methods = methods_by_package(&descriptors);
        let generator = tonic_prost_build::configure()
            .build_server(false)
            .out_dir(&folder);
        generator.compile_fds(descriptors)?;
        for (package, methods) in methods {
            let path = folder.join(format!("{package}.rs"));
            let code = fs::read_to_string(&path)?;
            fs::write(path, code + &methods)?;
        }
    }
    Ok(())
}

/// Returns the code that names the service of each package, and ties each method to the message that requests it.
fn methods_by_package(descriptors: &FileDescriptorSet) -> BTreeMap<String, String> {
    let mut packages = BTreeMap::new();
    for file in &descriptors.file {
        for service in &file.service {
            let name = service.name();
            let full_name = format!("{}.{name}", file.package());
            let mut code = format!(
                "/// The full name of `{name}` in paths, in `grpc.health.v1` and in reflection.\n\
                 pub const SERVICE_NAME: &str = \"{full_name}\";\n"
            );
            for method in &service.method {
                assert!(!method.client_streaming(), "no server here reads a stream");
                let kind = if method.server_streaming() {
                    "StreamRequest"
                } else {
                    "UnaryRequest"
                };
                let local = |name: &str| name.rsplit('.').next().unwrap_or_default().to_owned();
                let request = local(method.input_type());
                let response = local(method.output_type());
                let path = format!("/{full_name}/{}", method.name());
                writeln!(
                    code,
                    "impl crate::methods::{kind} for {request} {{\n    \
                     const PATH: &'static str = \"{path}\";\n    \
                     type Response = {response};\n}}"
                )
                .expect("text");
            }
            packages.insert(file.package().to_owned(), code);
        }
    }
    packages
}
