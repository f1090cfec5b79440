//! TLS (S6): `sslmode` is honoured as libpq has it, with an authority of the user's own.

use crate::opening::{assert_refused, assert_works};
use freehold::{PostgresStore, StoreErrorKind};
use freehold_tests::postgres::{Server, Sql};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

/// Runs the command-line tool that Debian's `postgresql` brings along.
fn openssl(folder: &Path, arguments: &str) {
    let output = Command::new("openssl").args(arguments.split(' ')).current_dir(folder).output();
    let output = output.expect("`openssl` is installed: the tests make certificates with it");
    assert!(output.status.success(), "openssl {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// An authority `{name}.pem`, and with it a certificate `{name}-server.crt` for localhost.
fn make_certificates(folder: &Path, name: &str) {
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(folder, &format!("req -x509 {key} -keyout {name}.key -out {name}.pem -days 2 -subj /CN={name}"));
    openssl(folder, &format!("req {key} -keyout {name}-server.key -out {name}-server.csr -subj /CN=localhost"));
    fs::write(folder.join("names"), "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n").expect("written");
    let signed =
        format!("-CA {name}.pem -CAkey {name}.key -CAcreateserial -out {name}-server.crt -days 2 -extfile names");
    openssl(folder, &format!("x509 -req -in {name}-server.csr {signed}"));
}

/// Gives the server the certificate, and has it speak TLS.
fn encrypt(server: &Server, folder: &Path, name: &str) {
    let sql = Sql::connect(&server.url("postgres"));
    let data = sql.value("show data_directory");
    let owner = fs::metadata(&data).expect("it is there");
    for end in ["crt", "key"] {
        let to = Path::new(&data).join(format!("server.{end}"));
        fs::copy(folder.join(format!("{name}-server.{end}")), &to).expect("copied");
        fs::set_permissions(&to, fs::Permissions::from_mode(0o600)).expect("set");
        chown(&to, Some(owner.uid()), Some(owner.gid())).expect("given to the server's account");
    }
    sql.run("alter system set ssl = on");
    sql.run("select pg_reload_conf()");
    while Sql::connect(&server.url("postgres")).value("show ssl") != "on" {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: tests/run installs it"]
async fn the_servers_certificate_is_looked_at_as_sslmode_says() {
    let folder = tempfile::tempdir().expect("a folder");
    make_certificates(folder.path(), "ours");
    make_certificates(folder.path(), "others");
    let server = Server::start();
    let (by_number, database) = (server.url("postgres"), "postgres");
    let by_name = by_number.replace("127.0.0.1", "localhost");
    let open = async |url: &str, options: &str| PostgresStore::open(&format!("{url}?{options}")).await;
    let root = |name: &str| format!("sslrootcert={}", folder.path().join(format!("{name}.pem")).display());
    let options = PostgresStore::options();
    let works = async |url: &str, with: &str| assert_works(&options, &format!("{url}?{with}")).await;
    let encrypted =
        format!("select bool_or(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where datname = '{database}'");

    // Without TLS.
    for mode in ["require".to_owned(), format!("verify-ca&{}", root("ours")), format!("verify-full&{}", root("ours"))] {
        let opened = open(&by_name, &format!("sslmode={mode}")).await;
        assert_refused(opened, StoreErrorKind::Unusable, &["TLS", "sslmode"]);
    }
    works(&by_name, "sslmode=prefer").await;

    encrypt(&server, folder.path(), "ours");
    let sql = Sql::connect(&format!("{by_number}?sslmode=disable"));
    let store = open(&by_number, "sslmode=require").await.expect("opened");
    assert_eq!(sql.value(&encrypted), "t");
    store.close().await.expect("closed");
    let others = root("others");
    for (url, right) in [
        (&by_number, "sslmode=require".to_owned()),
        (&by_number, "sslmode=prefer".to_owned()),
        (&by_number, "sslmode=disable".to_owned()),
        (&by_number, format!("sslmode=require&{}", root("ours"))),
        (&by_number, format!("sslmode=verify-ca&{}", root("ours"))),
        (&by_name, format!("{}&sslmode=verify-full", root("ours"))),
    ] {
        works(url, &right).await;
    }
    for (url, wrong) in [
        (&by_number, format!("sslmode=verify-full&{}", root("ours"))),
        (&by_number, format!("sslmode=require&{others}")),
        (&by_number, format!("sslmode=verify-ca&{others}")),
        (&by_name, format!("sslmode=verify-full&{others}")),
        (&by_name, "sslmode=verify-full".to_owned()),
    ] {
        let text = assert_refused(open(url, &wrong).await, StoreErrorKind::Unusable, &["TLS", "sslrootcert"]);
        assert!(text.contains("certificate"), "{text}");
    }
    for unreadable in ["no-such-file", "names", "ours.key"] {
        let options = format!("sslmode=verify-full&sslrootcert={}", folder.path().join(unreadable).display());
        assert_refused(open(&by_name, &options).await, StoreErrorKind::Unusable, &["sslrootcert", unreadable]);
    }
    assert_refused(open(&by_name, "sslmode=maybe").await, StoreErrorKind::Unusable, &["sslmode"]);
}
