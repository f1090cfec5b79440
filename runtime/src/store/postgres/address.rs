//! Where the server is: the URL of a store, taken apart. Connecting is in `session`, TLS itself in `tls`.

use super::errors::Trouble;
use crate::store::{StoreError, StoreErrorKind};
use std::path::PathBuf;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// How sure the client wants to be of the server, as libpq's `sslmode` says it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Trust {
    /// Whoever answers: `disable`, `allow`, `prefer` and `require`.
    Anyone,
    /// A certificate of a known authority, for whatever host: `verify-ca`, and `require` with a root certificate.
    Authority,
    /// A certificate of a known authority for this very host: `verify-full`.
    Host,
}

/// A server, and how to get there.
#[derive(Clone, Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    pub(super) trust: Trust,
    /// The file with the authorities to trust; none for those of the system.
    pub(super) root_certificates: Option<PathBuf>,
}

impl Address {
    /// Reads a URL (`postgres://user:password@host:port/database?sslmode=..`) or a libpq connection string.
    ///
    /// `sslmode` and `sslrootcert` are taken out first: the driver knows neither `verify-ca` nor `verify-full`.
    pub(super) fn parse(text: &str) -> Result<Self, StoreError> {
        let Taken { rest, mode, root } = take_tls_options(text);
        let mut config: Config = rest.parse().map_err(|_| wrong("it can't be read"))?;
        let (ssl, trust) = match (mode.as_deref(), &root) {
            (Some("disable"), _) => (SslMode::Disable, Trust::Anyone),
            (None | Some("prefer" | "allow"), _) => (SslMode::Prefer, Trust::Anyone),
            (Some("require"), None) => (SslMode::Require, Trust::Anyone),
            (Some("require" | "verify-ca"), _) => (SslMode::Require, Trust::Authority),
            (Some("verify-full"), _) => (SslMode::Require, Trust::Host),
            (Some(_), _) => {
                return Err(wrong("`sslmode` is one of disable, allow, prefer, require, verify-ca and verify-full"));
            }
        };
        config.ssl_mode(ssl);
        if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
            return Err(wrong("it names no host"));
        }
        if config.get_user().is_none() {
            return Err(wrong("it names no user"));
        }
        if config.get_application_name().is_none() {
            config.application_name("freehold");
        }
        let root_certificates = root.filter(|root| root != "system").map(PathBuf::from);
        Ok(Self { config, trust, root_certificates })
    }

    /// The server as messages name it: hosts, ports and database, and nothing of who connects.
    pub(super) fn place(&self) -> String {
        let ports = self.config.get_ports();
        let port = |place: usize| ports.get(place).or_else(|| ports.first()).copied().unwrap_or(5432);
        let host = |host: &Host| match host {
            Host::Tcp(name) => name.clone(),
            #[cfg(unix)]
            Host::Unix(path) => path.display().to_string(),
        };
        let hosts: Vec<String> = match self.config.get_hosts() {
            [] => self.config.get_hostaddrs().iter().map(ToString::to_string).collect(),
            hosts => hosts.iter().map(host).collect(),
        };
        let hosts: Vec<String> =
            hosts.iter().enumerate().map(|(place, host)| format!("{host}:{}", port(place))).collect();
        let database = self.config.get_dbname().or_else(|| self.config.get_user()).unwrap_or_default();
        format!("PostgreSQL at {}/{database}", hosts.join(","))
    }
}

fn wrong(problem: &str) -> StoreError {
    let message = format!(
        "the address of the PostgreSQL store is wrong: {problem}. Write postgres://user:password@host:5432/database, with \
         `?sslmode=verify-full` for a server beyond this machine"
    );
    let trouble = Trouble::store(StoreErrorKind::Unusable, message);
    let Trouble::Store(error) = trouble else { unreachable!("it was made of words") };
    error
}

/// A connection string without the options that are ours to read.
struct Taken {
    rest: String,
    mode: Option<String>,
    root: Option<String>,
}

fn take_tls_options(text: &str) -> Taken {
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    let (head, options, separator) = match (is_url, text.split_once('?')) {
        (true, Some((head, options))) => (format!("{head}?"), options, '&'),
        (true, None) => (text.to_owned(), "", '&'),
        (false, _) => (String::new(), text, ' '),
    };
    let mut taken = Taken { rest: head, mode: None, root: None };
    let mut kept: Vec<&str> = Vec::new();
    for option in options.split(separator).filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("sslmode", mode)) => taken.mode = Some(mode.trim_matches('\'').to_owned()),
            Some(("sslrootcert", root)) => taken.root = Some(decoded(root.trim_matches('\''), is_url)),
            _ => kept.push(option),
        }
    }
    taken.rest.push_str(&kept.join(&separator.to_string()));
    taken
}

/// A value of a URL, with `%2F` and its like resolved.
fn decoded(value: &str, is_url: bool) -> String {
    let mut bytes = value.bytes();
    let mut decoded = Vec::with_capacity(value.len());
    while let Some(byte) = bytes.next() {
        let hex = || {
            let digits = [bytes.clone().next()?, bytes.clone().nth(1)?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        };
        match (byte, is_url) {
            (b'%', true) => match hex() {
                Some(resolved) => {
                    decoded.push(resolved);
                    bytes.nth(1);
                }
                None => decoded.push(byte),
            },
            _ => decoded.push(byte),
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    #[test]
    fn sslmode_is_read_as_libpq_reads_it() {
        let cases = [
            ("", SslMode::Prefer, Trust::Anyone),
            ("?sslmode=disable", SslMode::Disable, Trust::Anyone),
            ("?sslmode=require", SslMode::Require, Trust::Anyone),
            ("?sslmode=require&sslrootcert=ca.pem", SslMode::Require, Trust::Authority),
            ("?connect_timeout=3&sslmode=verify-ca", SslMode::Require, Trust::Authority),
            ("?sslmode=verify-full&sslrootcert=system", SslMode::Require, Trust::Host),
        ];
        for (options, mode, trust) in cases {
            let address = parse(&format!("postgres://u:p@h/d{options}"));
            assert_eq!((address.config.get_ssl_mode(), address.trust), (mode, trust), "{options}");
        }
        assert_eq!(parse("host=h user=u sslmode=verify-full").trust, Trust::Host);
        let address = parse("postgres://u@h/d?sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=verify-ca");
        assert_eq!(address.root_certificates, Some(PathBuf::from("/etc/my ca.pem")));
    }

    #[test]
    fn a_place_names_no_user_and_no_password() {
        let place = parse("postgres://ana:secret@one:6000,two:6001/shop").place();
        assert_eq!(place, "PostgreSQL at one:6000,two:6001/shop");
        assert_eq!(parse("postgres://ana@one").place(), "PostgreSQL at one:5432/ana", "libpq's default");
    }

    #[test]
    fn a_wrong_address_says_how_to_write_one_and_not_the_password() {
        for wrong in [
            "",
            "postgres://",
            "shop.db",
            "postgres://ana:secret@h:port/d",
            "postgres://ana:secret@h/d?sslmode=maybe",
            "host=h",
        ] {
            let error = Address::parse(wrong).expect_err(wrong);
            assert!(error.to_string().contains("postgres://user:password@host"), "{error}");
            assert!(!error.to_string().contains("secret"), "{error}");
        }
    }
}
