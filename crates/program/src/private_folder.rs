//! Checks folders that hold secrets, so that only their owner can replace or read the files.

use crate::settings::SettingError;
use std::{
    fs::{self, DirBuilder},
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::Path,
};

/// Creates the folder with mode 0700 if it does not exist, and checks it as [`check`] does. Errors name `setting`.
pub fn open(setting: &str, folder: &Path, files: &[&str]) -> Result<(), SettingError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| {
            let problem = format!("cannot create the folder {}: {error}", folder.display());
            SettingError::new(setting, problem).transient_if_retryable(&error)
        })?;
    check(folder, files).map_err(|problem| SettingError::new(setting, problem))
}

/// Checks that the folder belongs to the user of this process, and that other users cannot write to it.
///
/// Files with the names in `files` may be missing. Those that exist must belong to this user, too, and other
/// users must have no access to them. The error says what to do.
pub fn check(folder: &Path, files: &[&str]) -> Result<(), String> {
    let shown = folder.display();
    let user = current_user();
    let metadata = fs::metadata(folder)
        .map_err(|error| format!("cannot inspect the folder {shown}: {error}"))?;
    let owner = metadata.uid();
    if owner != user {
        return Err(format!(
            "{shown} belongs to user {owner}, who could replace the secrets; run this as that \
             user, or chown the folder to user {user}"
        ));
    }
    // The mode is not changed here, because the folder may be shared on purpose.
    if metadata.mode() & 0o022 != 0 {
        return Err(format!(
            "others may write to {shown} and could replace the secrets; chmod go-w it, or choose \
             another folder"
        ));
    }
    for path in files.iter().map(|name| folder.join(name)) {
        let Ok(metadata) = fs::metadata(&path) else {
            continue;
        };
        let path = path.display();
        let owner = metadata.uid();
        if owner != user {
            return Err(format!(
                "{path} belongs to user {owner}; chown it to user {user}, or run this as user {owner}"
            ));
        }
        if metadata.mode() & 0o077 != 0 {
            return Err(format!(
                "{path} can be read or changed by others; chmod 600 it"
            ));
        }
    }
    Ok(())
}

/// Returns the id of the effective user of this process.
pub fn current_user() -> u32 {
    rustix::process::geteuid().as_raw()
}
