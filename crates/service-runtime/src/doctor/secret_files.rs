//! Files of secrets: nobody else's to read.

use super::Check;
use std::{fs, os::unix::fs::MetadataExt, path::Path};

const SUBJECT: &str = "secrets";

/// Others may not read a secret file, nor may anybody but its owner write to it. Its group may
/// read it: that is how Kubernetes gives one to a user who is not root.
const FORBIDDEN: u32 = 0o027;

/// Who may read the files that these settings name. Nothing about a file that cannot be looked at:
/// reading it has failed before, and said so.
#[must_use]
pub fn secret_files(files: &[(&str, Option<&Path>)]) -> Vec<Check> {
    files.iter().filter_map(|(name, file)| mode(name, (*file)?)).collect()
}

fn mode(name: &str, file: &Path) -> Option<Check> {
    let mode = fs::metadata(file).ok()?.mode() & 0o777;
    let path = file.display();
    Some(if mode & FORBIDDEN == 0 {
        Check::ok(SUBJECT, format!("{name}: {path} is readable by few ({mode:04o})"))
    } else {
        let why = "others may read it or change it";
        let text = format!("{name}: {path} has mode {mode:04o}, {why}; chmod 600 it");
        Check::failed(SUBJECT, text)
    })
}

#[cfg(test)]
mod tests {
    use super::mode;
    use std::{
        fs::{Permissions, set_permissions},
        os::unix::fs::PermissionsExt,
    };

    #[test]
    fn a_file_is_for_its_owner_and_its_group_may_read() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        for (bits, is_wrong) in [
            (0o600, false),
            (0o400, false),
            (0o440, false),
            (0o644, true),
            (0o604, true),
            (0o660, true),
            (0o602, true),
        ] {
            set_permissions(file.path(), Permissions::from_mode(bits)).expect("set");
            let finding = mode("SAMPLE_FILE", file.path()).expect("it is there");
            assert_eq!(finding.has_failed(), is_wrong, "{bits:o}: {finding:?}");
        }
    }
}
