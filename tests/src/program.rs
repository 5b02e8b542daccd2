//! Where the programs are: beside the test executables.

use std::path::PathBuf;

/// A program that tests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// auth-service, as users run it.
    AuthService,
    /// posts-service, as users run it.
    PostsService,
    /// gateway, as users run it.
    Gateway,
    /// rolegate, as users run it.
    Rolegate,
    /// auth-service whose hashes are cheap.
    FastHashAuthService,
    /// rolegate whose hashes are cheap.
    FastHashRolegate,
}

impl Program {
    /// The name of its file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthService => "auth-service",
            Self::PostsService => "posts-service",
            Self::Gateway => "gateway",
            Self::Rolegate => "rolegate",
            Self::FastHashAuthService => "fast-hash-auth-service",
            Self::FastHashRolegate => "fast-hash-rolegate",
        }
    }

    /// The first words of the lines with which it says where it listens.
    #[must_use]
    pub fn listeners(self) -> &'static [&'static str] {
        match self {
            Self::AuthService | Self::FastHashAuthService | Self::PostsService => &["grpc", "ops"],
            Self::Gateway => &["bearer", "basic", "ops"],
            Self::Rolegate | Self::FastHashRolegate => &["bearer", "basic", "grpc", "posts", "ops"],
        }
    }

    /// Its file.
    ///
    /// # Panics
    ///
    /// When it was not built: cargo builds only the programs of the package whose tests it runs.
    #[must_use]
    pub fn path(self) -> PathBuf {
        let this = std::env::current_exe().expect("the path of this executable");
        // A program is beside its tests' folder, `deps`, and beside the other programs.
        let places = this.ancestors().skip(1).take(2).map(|folder| folder.join(self.name()));
        places.into_iter().find(|path| path.is_file()).unwrap_or_else(|| {
            panic!(
                "{} is missing near {}; build the programs first: \
                 cargo build --workspace --bins --locked",
                self.name(),
                this.display()
            )
        })
    }
}
