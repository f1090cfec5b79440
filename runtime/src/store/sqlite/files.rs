//! The files beneath a running store, and what SQLite leaves to others: that a log which a crash left behind is on the
//! disk, and that the files are still the ones that were opened.

use super::errors::{Site, Trouble};
use crate::store::StoreErrorKind;
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Forces a write-ahead log that is there already to the disk, before anyone is told of what is in it (S4, R9).
///
/// A process that died between writing a commit's frames and syncing them leaves frames that only the system's cache may
/// have. Whoever opens the file next finds them whole and takes them for committed; a replay answered from them, and a
/// power cut after that, would lose what was reported. So every opening syncs the log, between its first look at the
/// file, which recovers the log if need be, and the first answer. Syncing needs no lock and writes nothing: it works
/// beside a writer, and an opening never waits for one. While the store is open there is nothing to do: a commit of
/// another process is visible to us only after that one has synced it, and the log is recovered again only when a
/// process died while it published a commit, which is after the sync.
///
/// It is the log alone: pages reach the file itself by checkpoints, and those sync both before a frame counts as moved.
/// Opening it here is harmless to SQLite's locks, which are on the other two files.
pub(super) fn sync_log(site: &Site) -> Result<(), Trouble> {
    let synced = real_path(site).and_then(|database| match OpenOptions::new().write(true).open(log_of(&database)) {
        Ok(log) => log.sync_all().and_then(|()| sync_directory_of(&database)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    });
    synced.map_err(|error| {
        let file = site.path().display();
        let message = format!("the write-ahead log of {file} can't be forced to the disk ({error}); check the disk");
        Trouble::store(StoreErrorKind::Unusable, message)
    })
}

/// The log may be new, and its name be nowhere but in memory.
fn sync_directory_of(database: &Path) -> io::Result<()> {
    match database.parent().filter(|_| cfg!(unix)) {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Refuses a file with a second name. SQLite puts log and locks beside the name by which it was opened: two processes
/// that come by two hard links don't see each other, and both may get one key. (A symbolic link is followed first.)
#[cfg(unix)]
pub(super) fn refuse_hard_links(site: &Site) -> Result<(), Trouble> {
    use std::os::unix::fs::MetadataExt;
    let names = std::fs::metadata(site.path()).map_or(1, |file| file.nlink());
    if names <= 1 {
        return Ok(());
    }
    let message = format!(
        "{} has {names} names (hard links), and a store opened by two of them breaks; remove the others, or make them \
         copies or symbolic links",
        site.path().display()
    );
    Err(Trouble::store(StoreErrorKind::Unusable, message))
}

#[cfg(not(unix))]
pub(super) fn refuse_hard_links(_: &Site) -> Result<(), Trouble> {
    Ok(())
}

/// The files as they were when the store was opened: the database, its log, and the index that the processes share.
///
/// SQLite goes on with files that were moved, replaced or deleted, and everything it then commits is lost. None of the
/// three is ever replaced by SQLite itself while a connection is open.
#[derive(Debug)]
pub(super) struct Files {
    database: Opened,
    beside: [Opened; 2],
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    id: Option<FileId>,
}

/// Device and number. Where a system has none, or deletes no open file, it is always the same.
type FileId = (u64, u64);

impl Files {
    /// Notes which files they are. The store's connection is open and has read from them.
    pub(super) fn of(site: &Site) -> Result<Self, Trouble> {
        let database = real_path(site).map_err(|_| Self::misplaced(site))?;
        let opened = |path: PathBuf| file_id(&path).map(|id| Opened { path, id }).map_err(|_| Self::misplaced(site));
        Ok(Self {
            // By the name that was given: a symbolic link may be turned to another file.
            database: opened(site.path().to_owned())?,
            beside: [opened(log_of(&database))?, opened(with_suffix(&database, "-shm"))?],
        })
    }

    /// Whether the path still leads to the database that is open. Costs a microsecond.
    pub(super) fn has_database(&self) -> bool {
        self.database.is_in_place()
    }

    /// Whether all three are in place.
    pub(super) fn are_in_place(&self) -> bool {
        self.has_database() && self.beside.iter().all(Opened::is_in_place)
    }

    /// The trouble to tell when they are not.
    pub(super) fn misplaced(site: &Site) -> Trouble {
        let message = format!(
            "{0}, or the -wal or -shm file beside it, was moved, replaced or deleted while the store was open: what \
             is written now is not in the file of that name. Put the files back, or restart every process that uses \
             {0}, and replace the file of a store only while nobody has it open",
            site.path().display()
        );
        Trouble::store(StoreErrorKind::Unusable, message)
    }
}

impl Opened {
    fn is_in_place(&self) -> bool {
        match file_id(&self.path) {
            Ok(id) => id == self.id,
            // Any other error says nothing about the file.
            Err(error) => !matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory),
        }
    }
}

#[cfg(unix)]
fn file_id(path: &Path) -> io::Result<Option<FileId>> {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata(path).map(|file| Some((file.dev(), file.ino())))
}

#[cfg(not(unix))]
fn file_id(_: &Path) -> io::Result<Option<FileId>> {
    Ok(None)
}

/// Where the file is once symbolic links are followed, as SQLite does.
fn real_path(site: &Site) -> io::Result<PathBuf> {
    std::fs::canonicalize(site.path())
}

fn log_of(database: &Path) -> PathBuf {
    with_suffix(database, "-wal")
}

fn with_suffix(database: &Path, suffix: &str) -> PathBuf {
    let mut path = OsString::from(database);
    path.push(suffix);
    path.into()
}
