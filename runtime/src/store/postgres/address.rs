//! Where the server is: the URL of a store, taken apart. Connecting is in `session`, TLS itself in `tls`.

use super::errors::Trouble;
use crate::store::{StoreError, StoreErrorKind};
use std::net::IpAddr;
use std::path::PathBuf;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, TargetSessionAttrs};

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
        let Taken { rest, mode, root } = take_tls_options(text).ok_or_else(|| wrong("it can't be read"))?;
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
        // A reader on a standby would not see what was written on the primary.
        let hosts = config.get_hosts().len().max(config.get_hostaddrs().len());
        if hosts > 1 && config.get_target_session_attrs() == TargetSessionAttrs::Any {
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
        }
        if config.get_application_name().is_none() {
            config.application_name("freehold");
        }
        let root_certificates = root.filter(|root| root != "system").map(PathBuf::from);
        Ok(Self { config, trust, root_certificates })
    }

    /// The same for each host alone, in their order.
    pub(super) fn each_host(&self) -> Vec<Config> {
        let (hosts, addresses, ports) = (self.config.get_hosts(), self.config.get_hostaddrs(), self.config.get_ports());
        let all = hosts.len().max(addresses.len());
        (0..all)
            .map(|place| self.of_host((hosts.get(place), addresses.get(place)), ports.get(place).or(ports.first())))
            .collect()
    }

    fn of_host(&self, (host, address): (Option<&Host>, Option<&IpAddr>), port: Option<&u16>) -> Config {
        let (from, mut one) = (&self.config, Config::new());
        match host {
            Some(Host::Tcp(name)) => {
                one.host(name);
            }
            #[cfg(unix)]
            Some(Host::Unix(path)) => {
                one.host_path(path);
            }
            None => {}
        }
        if let Some(address) = address {
            one.hostaddr(*address);
        }
        if let Some(port) = port {
            one.port(*port);
        }
        if let Some(user) = from.get_user() {
            one.user(user);
        }
        if let Some(password) = from.get_password() {
            one.password(password);
        }
        if let Some(name) = from.get_dbname() {
            one.dbname(name);
        }
        if let Some(options) = from.get_options() {
            one.options(options);
        }
        if let Some(name) = from.get_application_name() {
            one.application_name(name);
        }
        if let Some(timeout) = from.get_connect_timeout() {
            one.connect_timeout(*timeout);
        }
        if let Some(timeout) = from.get_tcp_user_timeout() {
            one.tcp_user_timeout(*timeout);
        }
        one.ssl_mode(from.get_ssl_mode())
            .ssl_negotiation(from.get_ssl_negotiation())
            .keepalives(from.get_keepalives())
            .target_session_attrs(from.get_target_session_attrs())
            .channel_binding(from.get_channel_binding());
        one
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
#[derive(Default)]
struct Taken {
    rest: String,
    mode: Option<String>,
    root: Option<String>,
}

impl Taken {
    /// Takes an option, unless it is the driver's.
    fn takes(&mut self, key: &str, value: &str) -> bool {
        match key {
            "sslmode" => self.mode = Some(value.to_owned()),
            "sslrootcert" => self.root = Some(value.to_owned()),
            _ => return false,
        }
        true
    }
}

fn take_tls_options(text: &str) -> Option<Taken> {
    let is_url = text.starts_with("postgres://") || text.starts_with("postgresql://");
    if is_url { Some(of_url(text)) } else { of_pairs(text) }
}

fn of_url(text: &str) -> Taken {
    let (head, options) = text.split_once('?').unwrap_or((text, ""));
    let mut taken = Taken::default();
    let kept: Vec<&str> = options
        .split('&')
        .filter(|option| {
            let (key, value) = option.split_once('=').unwrap_or((option, ""));
            !option.is_empty() && !taken.takes(&decoded(key), &decoded(value))
        })
        .collect();
    taken.rest = if kept.is_empty() { head.to_owned() } else { format!("{head}?{}", kept.join("&")) };
    taken
}

/// Pairs as libpq writes them: `key = value`, a value in quotes where it has spaces, a backslash before a quote. None when
/// a pair is not finished.
fn of_pairs(text: &str) -> Option<Taken> {
    let mut taken = Taken::default();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=')?;
        let (value, after) = value(after.trim_start())?;
        if !taken.takes(key.trim(), &value) {
            let escaped = value.replace('\\', "\\\\").replace('\'', "\\'");
            taken.rest.extend([key.trim(), "='", &escaped, "' "]);
        }
        rest = after.trim_start();
    }
    Some(taken)
}

/// The value at the start of `text`, and what comes after it.
fn value(text: &str) -> Option<(String, &str)> {
    let is_quoted = text.starts_with('\'');
    let mut value = String::new();
    let mut characters = text.char_indices().skip(usize::from(is_quoted));
    while let Some((place, character)) = characters.next() {
        match character {
            '\\' => value.push(characters.next()?.1),
            '\'' if is_quoted => return Some((value, &text[place + 1..])),
            _ if character.is_whitespace() && !is_quoted => return Some((value, &text[place..])),
            _ => value.push(character),
        }
    }
    (!is_quoted).then_some((value, ""))
}

/// A part of a URL, with `%2F` and its like resolved.
fn decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        let hex = || {
            let digits = [bytes.clone().next()?, bytes.clone().nth(1)?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()
        };
        match (byte, hex()) {
            (b'%', Some(resolved)) => {
                decoded.push(resolved);
                bytes.nth(1);
            }
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
        for pairs in ["host=h user=u sslmode=verify-full", "host = h user= 'u' sslmode = 'verify-full'"] {
            assert_eq!(parse(pairs).trust, Trust::Host, "{pairs}");
        }
        let pairs = parse(r"host=h user=u password='two  spaces and a \' quote' sslmode = require");
        assert_eq!(pairs.config.get_ssl_mode(), SslMode::Require);
        assert_eq!(pairs.config.get_password(), Some(&b"two  spaces and a ' quote"[..]));
        assert_eq!(parse("postgres://u@h/d?ssl%6Dode=require").config.get_ssl_mode(), SslMode::Require);
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
    fn of_several_hosts_the_primary_is_wanted_unless_the_url_says_otherwise() {
        let wanted = |url: &str| parse(url).config.get_target_session_attrs();
        assert_eq!(wanted("postgres://u@one/d"), TargetSessionAttrs::Any);
        assert_eq!(wanted("postgres://u@one,two/d"), TargetSessionAttrs::ReadWrite);
        assert_eq!(wanted("postgres://u@one,two/d?target_session_attrs=read-only"), TargetSessionAttrs::ReadOnly);
    }

    #[test]
    fn each_host_is_tried_by_itself() {
        let each = parse("postgres://ana:secret@one:6000,two:6001/shop?connect_timeout=3").each_host();
        let hosts: Vec<_> = each.iter().map(|one| (one.get_hosts().to_vec(), one.get_ports().to_vec())).collect();
        assert_eq!(hosts, [(vec![Host::Tcp("one".into())], vec![6000]), (vec![Host::Tcp("two".into())], vec![6001])]);
        assert!(each.iter().all(|one| one.get_user() == Some("ana") && one.get_dbname() == Some("shop")));
        assert!(each.iter().all(|one| one.get_connect_timeout() == Some(&std::time::Duration::from_secs(3))));
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
