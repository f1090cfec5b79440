//! `Schema`: a schema of a test's own, dropped at its end.

use super::sql::Sql;
use std::thread;
use std::time::Duration;

/// A name for a schema that nobody else uses; whatever is made under it is dropped at the end.
#[derive(Debug)]
pub struct Schema {
    url: String,
    name: String,
}

impl Schema {
    /// A name without a schema: the store under test makes it.
    #[must_use]
    pub fn new(url: &str) -> Self {
        let name = format!("test_{:016x}", fastrand::u64(..));
        let separator = if url.contains('?') { '&' } else { '?' };
        Self { url: format!("{url}{separator}application_name={name}"), name }
    }

    /// The same, on the server that the cheap tests share.
    ///
    /// # Panics
    ///
    /// When nobody has started one.
    #[must_use]
    pub fn shared() -> Self {
        Self::new(&super::shared())
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The URL of its database, by which the server knows who works on this schema.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A new connection to its database.
    ///
    /// # Panics
    ///
    /// When the server can't be reached.
    #[must_use]
    pub fn sql(&self) -> Sql {
        Sql::connect(&self.url)
    }

    /// Waits until the server has no connection to this schema any more, and so nothing of a dead process is on its way.
    ///
    /// # Panics
    ///
    /// When that takes longer than a minute.
    pub fn wait_for_silence(&self) {
        let sql = self.sql();
        let others = format!(
            "select count(*) from pg_stat_activity where application_name = '{}' and pid <> pg_backend_pid()",
            self.name
        );
        let is_silent = (0..3_000).any(|_| {
            thread::sleep(Duration::from_millis(20));
            sql.value(&others) == "0"
        });
        assert!(is_silent, "somebody is still connected to {}", self.name);
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        let dropped = Sql::try_connect(&self.url).and_then(|sql| {
            // A store that is still being closed may hold locks, and a test that fails should say why, and not hang.
            sql.try_rows("set lock_timeout = '20s'")?;
            sql.try_rows(&format!("drop schema if exists {} cascade", self.name))
        });
        if let Err(error) = dropped
            && !thread::panicking()
        {
            panic!("schema {} was left behind: {error}", self.name);
        }
    }
}
