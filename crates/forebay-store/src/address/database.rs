//! The address of a PostgreSQL database.

use crate::address::passfile::{self, Wanted};
use crate::address::{Environment, Origin, is_local};
use crate::database::Database;
use crate::error::OpenError;
use crate::failure::Failure;
use rustls::pki_types::{CertificateDer, pem::PemObject};
use rustls::{ClientConfig, RootCertStore};
use std::{fmt, path::Path, sync::Arc, time::Duration};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::{Config, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Default timeout for connecting; an address can name another one.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// Time without acknowledgement of sent bytes after which a connection counts as broken.
const UNCONFIRMED: Duration = Duration::from_secs(10);

/// PostgreSQL's port.
const PORT: u16 = 5432;

/// The address of a PostgreSQL database, with credentials and certificates.
///
/// Its text form names user, host and database, and never the password.
#[derive(Clone)]
pub struct DatabaseAddress {
    config: Config,
    tls: Option<Arc<ClientConfig>>,
}

impl DatabaseAddress {
    /// Reads an address such as `postgres://forebay@db.example.com/outputs`.
    ///
    /// Options after `?` are those of `psql`. `sslmode` and `sslrootcert` have a stricter meaning: a server on
    /// another machine must always show a certificate that is valid for its name. The password comes from
    /// `PGPASSWORD` or the password file.
    pub fn parse(url: &str, origin: Origin, environment: &Environment) -> Result<DatabaseAddress, OpenError> {
        let parts = Parts::of(url)?;
        if parts.has_password && origin == Origin::File {
            return Err(OpenError::Address(
                "the database address in a settings file has a password; remove it there, and set PGPASSWORD or \
                 add a line to ~/.pgpass"
                    .to_owned(),
            ));
        }
        let mut config: Config = parts.plain.parse().map_err(|error: tokio_postgres::Error| {
            let cause = std::error::Error::source(&error).map_or(error.to_string(), ToString::to_string);
            OpenError::Address(format!("the database address is invalid: {cause}"))
        })?;
        complete(&mut config, environment);
        let mode = parts.ssl_mode.as_deref().or_else(|| environment.get("PGSSLMODE"));
        let roots = parts.root_certificates.as_deref().or_else(|| environment.get("PGSSLROOTCERT"));
        let needs_tls = needs_tls(&config, mode)?;
        let tls = needs_tls.then(|| client_config(roots)).transpose()?.map(Arc::new);
        config.ssl_mode(if tls.is_some() { SslMode::Require } else { SslMode::Disable });
        Ok(DatabaseAddress { config, tls })
    }

    /// Creates the connection pool. No connection is opened yet.
    pub(crate) fn connect(&self) -> Result<Database, Failure> {
        match &self.tls {
            Some(tls) => Database::new(self.config.clone(), MakeRustlsConnect::new((**tls).clone())),
            None => Database::new(self.config.clone(), NoTls),
        }
    }
}

impl fmt::Display for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.config.get_hosts().iter().map(host_text).collect();
        let user = self.config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
        write!(f, "postgres://{user}{}/{}", hosts.join(","), self.config.get_dbname().unwrap_or_default())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseAddress({self})")
    }
}

fn host_text(host: &Host) -> String {
    match host {
        Host::Tcp(name) => name.clone(),
        Host::Unix(path) => path.display().to_string(),
    }
}

/// An address without the options that this program reads itself.
struct Parts {
    plain: String,
    ssl_mode: Option<String>,
    root_certificates: Option<String>,
    has_password: bool,
}

impl Parts {
    fn of(url: &str) -> Result<Parts, OpenError> {
        let after = url.strip_prefix("postgres://").or_else(|| url.strip_prefix("postgresql://"));
        let after = after.ok_or_else(|| {
            OpenError::Address("the database address must begin with postgres://".to_owned())
        })?;
        // A password may have '/' and '?', so the user comes first.
        let user = after.rsplit_once('@').map(|(user, _)| user);
        let place = user.map_or(0, str::len);
        let end = after[place..].find('?').map_or(after.len(), |at| place + at);
        let (before, options) = (&after[..end], after[end..].trim_start_matches('?'));
        let mut parts = Parts {
            plain: String::new(),
            ssl_mode: None,
            root_certificates: None,
            has_password: user.is_some_and(|user| user.contains(':')),
        };
        let mut kept = Vec::new();
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslmode", value)) => parts.ssl_mode = Some(value.to_owned()),
                Some(("sslrootcert", value)) => parts.root_certificates = Some(decoded(value)),
                Some(("password", _)) => {
                    parts.has_password = true;
                    kept.push(option);
                }
                _ => kept.push(option),
            }
        }
        parts.plain = format!("postgres://{before}");
        if !kept.is_empty() {
            parts.plain = format!("{}?{}", parts.plain, kept.join("&"));
        }
        Ok(parts)
    }
}

/// Text with the escapes of a URL decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let escaped = after
            .get(..2)
            .filter(|_| first == b'%')
            .and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(escaped.unwrap_or(first));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Adds what the address leaves out.
fn complete(config: &mut Config, environment: &Environment) {
    if config.get_user().is_none()
        && let Some(user) = environment.get("PGUSER").or_else(|| environment.get("USER"))
    {
        config.user(user);
    }
    if config.get_application_name().is_none() {
        config.application_name("forebay");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNCONFIRMED);
    }
    if config.get_password().is_none()
        && let Some(password) = password(config, environment)
    {
        config.password(password);
    }
}

/// The password from the environment or the password file.
fn password(config: &Config, environment: &Environment) -> Option<String> {
    if let Some(password) = environment.get("PGPASSWORD") {
        return Some(password.to_owned());
    }
    let user = config.get_user()?;
    let database = config.get_dbname().unwrap_or(user);
    let hosts = config.get_hosts().iter().enumerate().flat_map(|(number, host)| {
        let port = config.get_ports().get(number).or(config.get_ports().first()).copied().unwrap_or(PORT);
        // A socket has the name of this machine in the file.
        let also = matches!(host, Host::Unix(_)).then(|| "localhost".to_owned());
        [Some(host_text(host)), also].into_iter().flatten().map(move |host| (host, port))
    });
    let mut hosts = hosts.collect::<Vec<_>>().into_iter();
    hosts.find_map(|(host, port)| {
        passfile::password(&Wanted { host: &host, port, database, user }, environment)
    })
}

/// Whether connections are encrypted. Only connections to this machine may be unencrypted.
fn needs_tls(config: &Config, mode: Option<&str>) -> Result<bool, OpenError> {
    let hosts = config.get_hosts();
    let is_here = |host: &Host| match host {
        Host::Tcp(name) => is_local(name),
        Host::Unix(_) => true,
    };
    let are_local =
        hosts.iter().all(is_here) && config.get_hostaddrs().iter().all(std::net::IpAddr::is_loopback);
    match (are_local, mode) {
        (_, Some("require" | "verify-ca" | "verify-full")) => Ok(true),
        (true, None | Some("disable" | "allow" | "prefer")) => Ok(false),
        (false, None | Some("allow" | "prefer")) => Ok(true),
        (false, Some("disable")) => Err(OpenError::Address(
            "sslmode=disable is only for a database on this machine; remove it, and give the certificate of your \
             server's authority by sslrootcert if it is not one that this system knows"
                .to_owned(),
        )),
        (_, Some(_)) => Err(OpenError::Address(
            "the database address has an unknown sslmode; use verify-full".to_owned(),
        )),
    }
}

/// TLS configuration: trusts the authorities in a file, or those of this system.
fn client_config(roots: Option<&str>) -> Result<ClientConfig, OpenError> {
    let store = match roots.filter(|roots| *roots != "system") {
        Some(path) => roots_in(Path::new(path))?,
        None => system_roots()?,
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Address(format!("cannot set up TLS: {error}")))?;
    Ok(builder.with_root_certificates(store).with_no_client_auth())
}

fn roots_in(path: &Path) -> Result<RootCertStore, OpenError> {
    let cannot = |why: String| {
        OpenError::Address(format!("cannot read the certificates in {}: {why}", path.display()))
    };
    let mut store = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(path).map_err(|error| cannot(error.to_string()))?;
    for certificate in certificates {
        let certificate = certificate.map_err(|error| cannot(error.to_string()))?;
        store.add(certificate).map_err(|error| cannot(error.to_string()))?;
    }
    if store.is_empty() { Err(cannot("there are none".to_owned())) } else { Ok(store) }
}

fn system_roots() -> Result<RootCertStore, OpenError> {
    let mut store = RootCertStore::empty();
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        let advice = "this system has no certificates of authorities; install ca-certificates, or name a file by \
                      sslrootcert in the database address";
        return Err(OpenError::Address(advice.to_owned()));
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(url: &str, environment: &Environment) -> Result<DatabaseAddress, String> {
        DatabaseAddress::parse(url, Origin::Process, environment).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_is_encrypted_unless_it_is_local() {
        // address, whether it uses TLS; or a part of the error
        let table = [
            ("postgres://me@localhost/db", Ok(false)),
            ("postgresql://me@127.0.0.1:5433/db", Ok(false)),
            ("postgres://me@/db?host=/run/postgresql", Ok(false)),
            ("postgres://me@localhost/db?sslmode=disable", Ok(false)),
            ("postgres://me@localhost,db.example.com/db?sslmode=disable", Err("only for a database on this")),
            ("postgres://me@db.example.com/db?sslmode=disable", Err("only for a database on this machine")),
            ("postgres://me@localhost/db?hostaddr=10.0.0.1&sslmode=disable", Err("only for a database")),
            ("postgres://me@db.example.com/db?sslmode=sometimes", Err("unknown sslmode")),
            ("postgres://me@db.example.com/db?sslrootcert=/nowhere/ca.pem", Err("/nowhere/ca.pem")),
            ("postgres://me@localhost/db?pasword=x", Err("pasword")),
            ("postgres://me@localhost:port/db", Err("invalid")),
            ("mysql://me@localhost/db", Err("must begin with postgres://")),
        ];
        for (url, expected) in table {
            match (parse(url, &Environment::default()), expected) {
                (Ok(address), Ok(tls)) => assert_eq!(address.tls.is_some(), tls, "{url}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{url}: {error}"),
                (parsed, _) => panic!("{url}: {parsed:?}"),
            }
        }
    }

    #[test]
    fn a_password_in_a_file_is_refused_and_none_is_ever_shown() {
        let secret = "hush%3Ahush";
        let urls = [
            format!("postgres://me:{secret}@localhost/db"),
            format!("postgres://localhost/db?user=me&password={secret}"),
            format!("postgres://me:{secret}@localhost/db?unknown={secret}"),
            format!("postgres://me:{secret}@db.example.com/db?sslmode=disable"),
            format!("postgres://me:{secret}@localhost:{secret}/db"),
        ];
        for (number, url) in urls.iter().enumerate() {
            let error = DatabaseAddress::parse(url, Origin::File, &Environment::default()).unwrap_err();
            assert!(error.to_string().contains("set PGPASSWORD"), "{error}");
            let shown = match parse(url, &Environment::default()) {
                Ok(address) => {
                    assert_eq!(address.config.get_password(), Some(&b"hush:hush"[..]), "{url}");
                    format!("{address} {address:?}")
                }
                Err(error) => error,
            };
            assert!(!shown.contains("hush"), "{number}: {shown}");
        }
        let with_signs = "postgres://me:hush/?hush@localhost/db";
        let refused = DatabaseAddress::parse(with_signs, Origin::File, &Environment::default()).unwrap_err();
        assert!(refused.to_string().contains("set PGPASSWORD"), "{refused}");
        let shown = parse(with_signs, &Environment::default()).map(|address| address.to_string());
        assert!(!format!("{shown:?}").contains("hush"), "{shown:?}");
    }

    #[test]
    fn credentials_come_from_the_address_then_the_environment_then_the_password_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pass");
        std::fs::write(&path, "localhost:5432:db:filed:from-file\n").unwrap();
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
        let file = ("PGPASSFILE", path.to_str().unwrap());
        let set = ("PGPASSWORD", "from-environment");
        let table = [
            ("postgres://filed:from-url@localhost/db", vec![set, file], "filed", Some("from-url")),
            ("postgres://filed@localhost/db", vec![set, file], "filed", Some("from-environment")),
            ("postgres://filed@localhost/db", vec![file], "filed", Some("from-file")),
            ("postgres://filed@/db?host=/run/postgresql", vec![file], "filed", Some("from-file")),
            ("postgres://localhost/db", vec![file, ("PGUSER", "filed")], "filed", Some("from-file")),
            ("postgres://other@localhost/db", vec![file], "other", None),
        ];
        for (url, variables, user, password) in table {
            let environment = variables.into_iter().fold(Environment::default(), |mut all, (name, value)| {
                all.variables.insert(name.to_owned(), value.to_owned());
                all
            });
            let address = parse(url, &environment).unwrap();
            assert_eq!(address.config.get_user(), Some(user), "{url}");
            assert_eq!(address.config.get_password(), password.map(str::as_bytes), "{url}");
        }
    }
}
