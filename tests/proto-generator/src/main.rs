//! Writes the code and the descriptors of all contracts to a folder, which is the only argument. The contracts are read
//! from the current folder.

use prost::Message as _;
use std::{env, error::Error, fs, path::PathBuf};

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
        let generator = tonic_prost_build::configure().out_dir(&folder);
        generator.compile_fds(descriptors)?;
    }
    Ok(())
}
