//! The container in which this process runs, as people outside can name it.

use std::{fs, path::Path};

/// The length of the id that Docker and Podman make the name of a host, in hexadecimal digits.
const ID_LENGTH: usize = 12;

/// A container of Docker or Podman without a shell, such as that of the image: its log is read
/// outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Container {
    engine: &'static str,
    /// `CONTAINER` if its host has another name.
    id: String,
}

impl Container {
    /// The container of this process, if it is in one that has no shell.
    pub(crate) fn current() -> Option<Self> {
        Self::of(Path::new("/"))
    }

    /// `root`: where the files of the container are.
    fn of(root: &Path) -> Option<Self> {
        let engine = if root.join(".dockerenv").exists() {
            "docker"
        } else if root.join("run/.containerenv").exists() {
            "podman"
        } else {
            return None;
        };
        if root.join("bin/sh").exists() {
            return None;
        }
        let name = fs::read_to_string(root.join("etc/hostname")).unwrap_or_default();
        let name = name.trim();
        let is_id = name.len() == ID_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit());
        Some(Self { engine, id: if is_id { name } else { "CONTAINER" }.to_owned() })
    }

    /// A command for outside that prints this file, by its absolute path.
    pub(crate) fn print_file(&self, path: &str) -> String {
        format!("{} cp {}:{path} - | tar -xO", self.engine, self.id)
    }

    /// A command for outside that runs this one on a terminal.
    pub(crate) fn run(&self, command: &str) -> String {
        format!("{} exec -it {} {command}", self.engine, self.id)
    }
}

#[cfg(test)]
impl Container {
    pub(crate) fn example() -> Self {
        Self { engine: "docker", id: "0123456789ab".to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::Container;
    use std::fs;

    #[test]
    fn a_file_is_printed_by_the_engine_and_the_id_of_the_container() {
        let root = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("created");
            fs::write(path, text).expect("written");
        };
        let command = || Container::of(root.path()).map(|found| found.print_file("/data/x"));
        write("etc/hostname", "0123456789ab\n");
        assert_eq!(command(), None, "a machine");
        write("run/.containerenv", "");
        assert_eq!(command().as_deref(), Some("podman cp 0123456789ab:/data/x - | tar -xO"));
        write(".dockerenv", "");
        assert_eq!(command().as_deref(), Some("docker cp 0123456789ab:/data/x - | tar -xO"));
        for name in ["web-1\n", "0123456789ab.example\n", "", "$(reboot)abc\n"] {
            write("etc/hostname", name);
            assert_eq!(command().as_deref(), Some("docker cp CONTAINER:/data/x - | tar -xO"));
        }
        write("bin/sh", "");
        assert_eq!(command(), None, "a container in which people work");
    }
}
