//! The servers of the tests do what the tests rely on: they lose what they must lose, and nothing else.

use freehold_tests::postgres::{Server, Sql, Stop};

#[test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
fn a_server_comes_back_with_what_was_committed() {
    let mut server = Server::start();
    let url = server.url("postgres");
    let sql = Sql::connect(&url);
    sql.run("create table kept(number int)");
    for (number, end) in ["fast", "immediate", "kill"].into_iter().enumerate() {
        let sql = Sql::connect(&url);
        sql.run(&format!("insert into kept values ({number})"));
        sql.run("begin");
        sql.run("insert into kept values (99)");
        match end {
            "fast" => server.stop(Stop::Fast),
            "immediate" => server.stop(Stop::Immediate),
            _ => server.kill(),
        }
        assert!(sql.try_rows("commit").is_err(), "{end}: the connection is lost");
        assert!(Sql::try_connect(&url).is_err(), "{end}: nobody answers");
        server.start_again();
    }
    assert!(sql.try_rows("select 1").is_err(), "a lost connection stays lost");
    assert_eq!(Sql::connect(&url).value("select string_agg(number::text, ' ' order by number) from kept"), "0 1 2");
}

#[test]
#[ignore = "needs PostgreSQL: tests/run installs it"]
fn a_synchronous_standby_has_what_the_primary_told_and_takes_over() {
    let mut primary = Server::start();
    Sql::connect(&primary.url("postgres")).run("create table kept(number int)");
    let standby = primary.standby();
    let sql = Sql::connect(&primary.url("postgres"));
    for number in 0..100 {
        sql.run(&format!("insert into kept values ({number})"));
    }
    let behind = Sql::connect(&standby.url("postgres"));
    let refused = behind.try_rows("insert into kept values (100)").expect_err("a standby takes no writes");
    assert!(refused.contains("25006"), "{refused}");
    primary.kill();
    standby.promote();
    let sql = Sql::connect(&standby.url("postgres"));
    assert_eq!(sql.value("select count(*) from kept"), "100");
    sql.run("insert into kept values (100)");
}
