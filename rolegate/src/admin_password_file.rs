//! The file of the generated password of the user admin.

use crate::{data_dir::DataDir, settings::Settings};
use std::path::{Path, PathBuf};

/// Where the operator finds the password of the user admin.
pub(crate) enum AdminPasswordHint<'a> {
    /// In this file, which was generated for this database.
    In(&'a Path),
    /// The file existed before and the database is outside the data folder: they may not belong
    /// together.
    MaybeIn(&'a Path),
    /// It was set by the operator.
    Unknown,
}

/// The file of the generated password of the user admin, as it was before this start.
pub(crate) struct AdminPasswordFile {
    path: PathBuf,
    existed: bool,
    /// The users are in the folder of this file.
    pub(crate) is_beside_users: bool,
}

impl AdminPasswordFile {
    pub(crate) fn before_start(settings: &Settings, data_dir: &DataDir) -> Self {
        let path = data_dir.initial_admin_password();
        Self {
            existed: path.exists(),
            path,
            is_beside_users: settings.database_url.is_none()
                && settings.database_url_file.is_none(),
        }
    }

    pub(crate) fn hint(&self) -> AdminPasswordHint<'_> {
        if !self.path.exists() {
            AdminPasswordHint::Unknown
        } else if self.is_beside_users || !self.existed {
            AdminPasswordHint::In(&self.path)
        } else {
            AdminPasswordHint::MaybeIn(&self.path)
        }
    }
}
