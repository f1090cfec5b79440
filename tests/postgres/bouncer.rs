//! PgBouncer in transaction mode between the store and its server: every transaction may run on another connection.

use crate::crowd::{Crowd, domain, release};
use freehold::store::postgres::PostgresOptions;
use freehold::{Domain, Namespace, PostgresStore, Store, TRIM_LOWERCASE};
use freehold_testkit::conformance::commands::{holds, scripted};
use freehold_testkit::script::{Change, Create, NAMES, Script, Scripted, TAKEN};
use freehold_tests::audit::audit;
use freehold_tests::postgres::{Server, Sql};
use std::fs::{self, Permissions};
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::process::{Child, Command, Stdio};

/// Ends with its input, however the test ended.
const GUARD: &str = r#"pgbouncer "$@" & read -r _; kill -INT $!; wait"#;

/// A `PgBouncer` before a server.
struct Bouncer {
    guard: Child,
    port: u16,
    _folder: tempfile::TempDir,
}

impl Bouncer {
    fn before(server: &Server) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).expect("set");
        let free = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = free.local_addr().expect("bound").port();
        let config = format!(
            "[databases]\n\
             * = host=127.0.0.1 port={} user=postgres password=freehold\n\
             [pgbouncer]\n\
             listen_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n\
             auth_type = any\npool_mode = transaction\ndefault_pool_size = 5\n",
            server.port()
        );
        let file = folder.path().join("pgbouncer.ini");
        fs::write(&file, config).expect("written");
        drop(free);
        let mut guard = Command::new("sh");
        guard.args(["-c", GUARD, "guard", "--quiet"]);
        // It refuses to be root's, as servers do.
        if fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0) {
            guard.args(["--user", "postgres"]);
        }
        let guard = guard.arg(&file).stdin(Stdio::piped()).spawn().expect("there is a shell");
        let bouncer = Self { guard, port, _folder: folder };
        let mut tries = 0;
        while Sql::try_connect(&bouncer.url()).is_err() {
            tries += 1;
            assert!(tries < 20_000, "`pgbouncer` does not start: tests/run installs it");
        }
        bouncer
    }

    fn url(&self) -> String {
        format!("postgres://anyone@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        drop(self.guard.wait());
    }
}

fn options() -> PostgresOptions {
    PostgresStore::options().prepared_statements(false)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn commands_keys_and_a_rekey_go_through_pgbouncer() {
    let server = Server::start();
    let bouncer = Bouncer::before(&server);
    let (first, store) = domain(&options(), &bouncer.url()).await;
    let (a, b) = (scripted("a"), scripted("b"));
    first.send(&a, Create(Script::take("Contoso "))).request_id("r").await.expect("created");
    let taken = first.send(&b, Create(Script::take("Contoso "))).request_id("s").await.expect_err("it is taken");
    assert_eq!(taken.rejection().map(freehold::Rejection::code), Some(TAKEN));
    first.send(&a, Change(Script::swap("Contoso ", "Fabrikam "))).await.expect("renamed");
    first.send(&b, Create(Script::take("Contoso "))).request_id("s").await.expect("the name is free");
    assert!(first.send(&a, Create(Script::take("Contoso "))).request_id("r").await.expect("known").is_replay());
    let crowd = Crowd::start(&first);
    let (second, _) = domain(&options(), &bouncer.url()).await;
    let mut other = Crowd::start_as(&second, "other");
    other.hear_everyone().await;
    let mut told = crowd.finish().await;
    told.extend(other.finish().await);
    assert!(store.commits(0, 1_000).await.expect("the log is read").is_sorted_by_key(|commit| commit.position));
    // A transaction of many statements.
    let lowercase = Namespace::new(NAMES.name()).normalized(TRIM_LOWERCASE);
    let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(lowercase).rekey(lowercase);
    let rekeyed = builder.store(options().open(&bouncer.url()).await.expect("opened")).build().await.expect("rekeyed");
    assert!(holds(&rekeyed, "a", lowercase, "fabrikam").await && holds(&rekeyed, "b", lowercase, "contoso").await);
    let stale = first.send(&a, Change(release("Fabrikam "))).await.expect_err("it was built before");
    assert_eq!(stale.code(), "MISCONFIGURED");
    let breaches = audit(&Sql::connect(&server.url("postgres")), "freehold", &told);
    assert!(breaches.is_empty(), "{breaches:#?}");
    for domain in [first, second, rekeyed] {
        domain.close().await.expect("closed");
    }
}

/// With prepared statements, which do not survive there, a command fails in words that say which setting helps.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn prepared_statements_behind_pgbouncer_are_told_with_the_setting_that_helps() {
    let server = Server::start();
    let bouncer = Bouncer::before(&server);
    let opened = PostgresStore::open(&bouncer.url()).await;
    let failure = match opened {
        Err(error) => Some(error.to_string()),
        Ok(store) => {
            let builder = Domain::builder().without_discovery().aggregate::<Scripted>().namespace(NAMES);
            match builder.store(store).build().await {
                Err(error) => Some(error.to_string()),
                Ok(domain) => first_failure(&domain).await,
            }
        }
    };
    let failure = failure.expect("prepared statements are lost on the way");
    assert!(failure.contains("PostgresOptions::prepared_statements(false)"), "{failure}");
}

/// Commands at once, over connections that are not the ones that they were prepared on.
async fn first_failure(domain: &Domain) -> Option<String> {
    let mut sends = tokio::task::JoinSet::new();
    for number in 0..200 {
        let (domain, id) = (domain.clone(), scripted(&format!("a-{number}")));
        sends.spawn(async move {
            let sent = domain.send(&id, Create(Script::take(&format!("name-{number}")))).await;
            sent.and(domain.load(&id).await.map(drop)).err()
        });
    }
    sends.join_all().await.into_iter().flatten().map(|error| error.to_string()).next()
}
