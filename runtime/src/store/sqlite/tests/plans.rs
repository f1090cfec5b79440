//! Query plans: every statement that runs often finds its rows through the index that is meant for it.

use super::*;
use crate::store::sqlite::connection::{open_writer, site};
use crate::store::sqlite::{log, reservations};
use rusqlite::{Connection, params_from_iter};

fn plan(connection: &Connection, sql: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
    let parameters = vec!["0"; explain.parameter_count()];
    let steps = explain.query_map(params_from_iter(parameters), |row| row.get(3)).unwrap();
    steps.collect::<Result<_, _>>().unwrap()
}

/// U07: the cost of a call does not grow with what others hold.
#[test]
fn no_statement_of_a_command_scans_a_table() {
    let scratch = Scratch::new();
    let site = site(&scratch.file(), true).unwrap();
    let connection = open_writer(&site, true, 1_000, Timestamp::from_millis(0)).unwrap();
    let by_stream = "INDEX sqlite_autoindex_commits_1 (id=? AND aggregate=? AND context=? AND tenant=?";
    let by_key = "USING PRIMARY KEY (key=? AND namespace=? AND scope=? AND context=?)";
    for (sql, expected) in [
        (log::BY_VERSION, format!("SEARCH commits USING {by_stream} AND version=?)")),
        (log::NEWEST, format!("SEARCH commits USING COVERING {by_stream})")),
        (log::OF_STREAM, format!("SEARCH commits USING {by_stream} AND version>?)")),
        (
            log::BY_REQUEST,
            "SEARCH commits USING INDEX sqlite_autoindex_commits_2 (request_id=? AND aggregate=? AND context=? AND tenant=?)"
                .to_owned(),
        ),
        (log::AFTER, "SEARCH commits USING INTEGER PRIMARY KEY (rowid>?)".to_owned()),
        (reservations::FIND, format!("SEARCH reservations {by_key}")),
        (reservations::CONFIRM, format!("SEARCH reservations {by_key}")),
        (reservations::RELEASE, format!("SEARCH reservations {by_key}")),
    ] {
        assert_eq!(plan(&connection, sql), [expected], "{sql}");
    }
    let by_shape = "USING PRIMARY KEY (id=? AND aggregate=? AND context=? AND tenant=? AND state_version=?)";
    assert_eq!(
        plan(&connection, log::SNAPSHOT),
        [format!("SEARCH kept {by_shape}"), format!("SEARCH commits EXISTS USING COVERING {by_stream} AND version=?)")]
    );
    let held_by = plan(&connection, reservations::HELD_BY);
    assert!(held_by[0].starts_with("SEARCH written USING INDEX sqlite_autoindex_commits_1 (id=?"), "{held_by:?}");
    assert_eq!(held_by[1..3], ["SCAN change VIRTUAL TABLE INDEX 1:".to_owned(), format!("SEARCH held {by_key}")]);
    let sweep = plan(&connection, reservations::SWEEP);
    assert!(sweep.iter().all(|step| !step.starts_with("SCAN")), "{sweep:?}");
}
