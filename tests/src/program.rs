//! The programs under test, whose files are beside those of the tests.

use std::path::PathBuf;

/// The environment variable from which the fast-hash programs take their bcrypt cost.
pub const HASH_COST: &str = "FAST_HASH_COST";

/// The lowest cost that bcrypt permits. A hash takes about a millisecond.
const LOWEST_COST: u32 = 4;

/// Returns the bcrypt cost of the fast-hash programs.
///
/// # Panics
///
/// Panics if `FAST_HASH_COST` is not a number.
pub fn hash_cost() -> u32 {
    std::env::var(HASH_COST).map_or(LOWEST_COST, |text| text.parse().expect("a bcrypt cost"))
}

/// A program that tests start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `auth-service` as released.
    AuthService,
    /// `posts-service` as released.
    PostsService,
    /// `gateway` as released.
    Gateway,
    /// `rolegate` as released.
    Rolegate,
    /// `auth-service` with cheap password hashes.
    FastHashAuthService,
    /// `rolegate` with cheap password hashes.
    FastHashRolegate,
}

impl Program {
    /// Returns the name of the program's file.
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

    /// Returns the listeners that the program prints when it is ready.
    #[must_use]
    pub fn listeners(self) -> &'static [&'static str] {
        match self {
            Self::AuthService | Self::FastHashAuthService | Self::PostsService => &["grpc", "ops"],
            Self::Gateway => &["bearer", "basic", "forward", "ops"],
            Self::Rolegate | Self::FastHashRolegate => {
                &["bearer", "basic", "forward", "grpc", "posts", "ops"]
            }
        }
    }

    /// Returns the path of the program's file.
    ///
    /// # Panics
    ///
    /// Panics if the program is not built: cargo builds only the programs of the package whose
    /// tests it runs.
    #[must_use]
    pub fn path(self) -> PathBuf {
        let this = std::env::current_exe().expect("the path of this executable");
        // Test executables are in the folder `deps`, below the folder of the programs.
        let candidates = this
            .ancestors()
            .skip(1)
            .take(2)
            .map(|folder| folder.join(self.name()));
        candidates
            .into_iter()
            .find(|path| path.is_file())
            .unwrap_or_else(|| {
                panic!(
                    "{} is missing near {}; tests/run one NAME builds the programs, and so does \
                     cargo build --workspace --all-features --bins --locked",
                    self.name(),
                    this.display()
                )
            })
    }
}
