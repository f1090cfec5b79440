//! Where PostgreSQL is installed, and who may run it: a server refuses to be root's.

use std::fs;
use std::os::unix::fs::{MetadataExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The variable with the folder of the server's programs, for one that is not where Debian puts it.
const FOLDER: &str = "FREEHOLD_PG_BIN";
/// Where Debian puts the programs of each major version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Whether this machine has a server to start.
#[must_use]
pub fn is_installed() -> bool {
    found().is_some()
}

fn found() -> Option<PathBuf> {
    let named = std::env::var_os(FOLDER).map(PathBuf::from);
    let candidates = named.map_or_else(|| debians().into_iter().chain(configured()).collect(), |named| vec![named]);
    candidates.into_iter().find(|folder| ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file()))
}

/// Debian's folders, the newest version first.
fn debians() -> Vec<PathBuf> {
    let versions = fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut versions: Vec<u32> = versions.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    versions.sort_unstable();
    versions.iter().rev().map(|version| Path::new(DEBIAN).join(version.to_string()).join("bin")).collect()
}

fn configured() -> Option<PathBuf> {
    let output = Command::new("pg_config").arg("--bindir").output().ok()?;
    Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim()))
}

/// A folder with servers, and the account that runs them.
#[derive(Debug)]
pub(super) struct Install {
    programs: PathBuf,
    account: Option<(u32, u32)>,
}

impl Install {
    pub(super) fn find() -> Self {
        let missing =
            "no PostgreSQL server: run tests/run, which installs Debian's `postgresql`, or name its folder in";
        let programs = found().unwrap_or_else(|| panic!("{missing} {FOLDER}"));
        let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
        Self { programs, account: is_root.then(other_account) }
    }

    /// One of the server's programs, run by the account that may.
    pub(super) fn program(&self, name: &str) -> Command {
        let mut command = Command::new(self.programs.join(name));
        if let Some((user, group)) = self.account {
            command.uid(user).gid(group);
        }
        command
    }

    /// Runs a program to its end.
    pub(super) fn run(&self, name: &str, arguments: &[&str]) {
        let output = self.program(name).args(arguments).output();
        let output = output.unwrap_or_else(|error| panic!("{name} does not start: {error}"));
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name} {arguments:?}: {}\n{said}", output.status);
    }

    /// Makes `path` the account's own.
    pub(super) fn give(&self, path: &Path) {
        if let Some((user, group)) = self.account {
            chown(path, Some(user), Some(group)).expect("root may give files away");
        }
    }
}

/// User and group of `postgres`, which Debian's package makes, or else of `nobody`.
fn other_account() -> (u32, u32) {
    let id = |which: &str, name: &str| -> Option<u32> {
        let output = Command::new("id").args([which, name]).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    };
    let account = ["postgres", "nobody"].iter().find_map(|name| Some((id("-u", name)?, id("-g", name)?)));
    account.expect("there is a user `postgres` or `nobody`, for root can't run a server")
}
