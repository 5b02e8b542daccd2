//! The secrets: there, long enough, and nobody else's to read.

use super::{Finding, good, wrong};
use crate::{accounts::AdminPassword, settings::Settings};
use service_runtime::settings::SettingError;
use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

const SUBJECT: &str = "secrets";

/// Others may not read a secret file, nor may anybody but its owner write to it. Its group may
/// read it: that is how Kubernetes gives one to a user who is not root.
const FORBIDDEN: u32 = 0o027;

pub(super) fn check(settings: &Settings) -> Vec<Finding> {
    let service = &settings.service;
    let missing = || Err(SettingError::new("SIGNING_SECRET", "is required and not set"));
    let signing = match service.key_source(missing).and_then(|keys| keys.read()) {
        Ok(keyring) => {
            let accepted = keyring.ids().count();
            good(SUBJECT, format!("SIGNING_SECRET is long enough; keys accepted: {accepted}"))
        }
        Err(error) => wrong(SUBJECT, error.to_string()),
    };
    let tls = match service.tls() {
        Ok(Some(_)) => Some(good(SUBJECT, "the certificate of gRPC and its key can be used")),
        Ok(None) => None,
        Err(error) => Some(wrong(SUBJECT, error.to_string())),
    };
    let admin = match service.admin_password() {
        Ok(AdminPassword::Missing) => {
            good(SUBJECT, "DEFAULT_ADMIN_PASSWORD is not set: needed until the user admin exists")
        }
        Ok(_) => good(SUBJECT, "DEFAULT_ADMIN_PASSWORD can be a password"),
        Err(error) => wrong(SUBJECT, error.to_string()),
    };
    let files: [(&str, &Option<PathBuf>); 5] = [
        ("SIGNING_SECRET_FILE", &service.signing_secret_file),
        ("SIGNING_SECRETS_ACCEPTED_FILE", &service.signing_secrets_accepted_file),
        ("AUTH_TLS_KEY_FILE", &service.auth_tls_key_file),
        ("DEFAULT_ADMIN_PASSWORD_FILE", &service.default_admin_password_file),
        ("DATABASE_URL_FILE", &settings.database_url_file),
    ];
    let files = files.into_iter().filter_map(|(name, file)| mode(name, file.as_deref()?));
    [signing, admin].into_iter().chain(tls).chain(files).collect()
}

/// Nothing about a file that cannot be looked at: reading it has failed before, and said so.
fn mode(name: &str, file: &Path) -> Option<Finding> {
    let mode = fs::metadata(file).ok()?.mode() & 0o777;
    let path = file.display();
    Some(if mode & FORBIDDEN == 0 {
        good(SUBJECT, format!("{name}: {path} is readable by few ({mode:04o})"))
    } else {
        let why = "others may read it or change it";
        wrong(SUBJECT, format!("{name}: {path} has mode {mode:04o}, {why}; chmod 600 it"))
    })
}

#[cfg(test)]
mod tests {
    use super::{super::Verdict, mode};
    use std::{
        fs::{Permissions, set_permissions},
        os::unix::fs::PermissionsExt,
    };

    #[test]
    fn a_file_is_for_its_owner_and_its_group_may_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (bits, verdict) in [
            (0o600, Verdict::Good),
            (0o400, Verdict::Good),
            (0o440, Verdict::Good),
            (0o644, Verdict::Wrong),
            (0o604, Verdict::Wrong),
            (0o660, Verdict::Wrong),
            (0o602, Verdict::Wrong),
        ] {
            set_permissions(file.path(), Permissions::from_mode(bits)).expect("set");
            let finding = mode("SAMPLE_FILE", file.path()).expect("it is there");
            assert_eq!(finding.verdict, verdict, "{bits:o}: {finding:?}");
        }
    }
}
