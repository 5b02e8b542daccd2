//! Where the programs are: beside the test executables.

use std::path::PathBuf;

/// A program that tests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// auth-service, as users run it.
    AuthService,
    /// gateway, as users run it.
    Gateway,
    /// all-in-one, as users run it.
    AllInOne,
    /// auth-service whose hashes are cheap.
    CheapAuthService,
    /// all-in-one whose hashes are cheap.
    CheapAllInOne,
}

impl Program {
    /// The name of its file.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AuthService => "auth-service",
            Self::Gateway => "gateway",
            Self::AllInOne => "all-in-one",
            Self::CheapAuthService => "cheap-auth-service",
            Self::CheapAllInOne => "cheap-all-in-one",
        }
    }

    /// The first words of the lines with which it says where it listens.
    #[must_use]
    pub fn listeners(self) -> &'static [&'static str] {
        match self {
            Self::AuthService | Self::CheapAuthService => &["grpc", "ops"],
            Self::Gateway => &["bearer", "basic", "ops"],
            Self::AllInOne | Self::CheapAllInOne => &["bearer", "basic", "grpc", "ops"],
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
        let folder = this.ancestors().nth(2).expect("target/debug/deps/this");
        let path = folder.join(self.name());
        assert!(
            path.is_file(),
            "{} is missing; build the programs first: cargo build --workspace --bins --locked",
            path.display()
        );
        path
    }
}
