//! Generates the Rust code of the contracts, with protox instead of `protoc`.

use std::{env, error::Error, fs, path::PathBuf};

use prost::Message as _;

/// Each contract and the file of its descriptors; server reflection describes one service each.
const CONTRACTS: [(&str, &str); 2] =
    [("rolegate/auth/v1/auth.proto", "auth.bin"), ("rolegate/posts/v1/posts.proto", "posts.bin")];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=rolegate");
    let out = PathBuf::from(env::var("OUT_DIR")?);
    for (file, descriptors_file) in CONTRACTS {
        let descriptors = protox::compile([file], ["."])?;
        fs::write(out.join(descriptors_file), descriptors.encode_to_vec())?;
        tonic_prost_build::configure().compile_fds(descriptors)?;
    }
    Ok(())
}
