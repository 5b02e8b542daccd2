//! Tests that the committed code is what the contracts generate. Because the code is committed, a build needs
//! no generator.

use prost::Message as _;
use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::Path,
};

/// The contracts, each with the file for its descriptors if server reflection needs them.
const CONTRACTS: [(&str, Option<&str>); 3] = [
    ("rolegate/auth/v1/auth.proto", Some("auth.bin")),
    ("rolegate/posts/v1/posts.proto", Some("posts.bin")),
    ("envoy/service/auth/v3/external_auth.proto", None),
];

/// Writes the code and the descriptors of all contracts to this folder.
fn generate(folder: &Path) {
    for (file, descriptors_file) in CONTRACTS {
        let descriptors = protox::compile([file], ["."]).expect("a valid contract");
        if let Some(name) = descriptors_file {
            fs::write(folder.join(name), descriptors.encode_to_vec()).expect("written");
        }
        let generator = tonic_prost_build::configure().out_dir(folder);
        generator.compile_fds(descriptors).expect("generated");
    }
}

/// Reads the files of a folder, by name.
fn read(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| {
        let path = file.expect("an entry").path();
        let name = path
            .file_name()
            .expect("a name")
            .to_string_lossy()
            .into_owned();
        (name, fs::read(path).expect("a file"))
    });
    files.collect()
}

#[test]
fn the_committed_code_is_that_of_the_contracts() {
    let committed = Path::new("src/generated");
    let folder = tempfile::tempdir().expect("a folder");
    generate(folder.path());
    let generated = read(folder.path());
    if env::var_os("UPDATE_GENERATED").is_some() {
        fs::remove_dir_all(committed).expect("removed");
        fs::create_dir(committed).expect("created");
        for (name, content) in &generated {
            fs::write(committed.join(name), content).expect("written");
        }
    }
    let committed = read(committed);
    let names: BTreeSet<_> = committed.keys().chain(generated.keys()).collect();
    let is_stale = |name: &&&String| committed.get(**name) != generated.get(**name);
    let stale: Vec<_> = names.iter().filter(is_stale).collect();
    assert!(
        stale.is_empty(),
        "not what the contracts generate: {stale:?} in proto/src/generated; \
         UPDATE_GENERATED=1 cargo test -p rolegate-proto --test generated writes them"
    );
}
