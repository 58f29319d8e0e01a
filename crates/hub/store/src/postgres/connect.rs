//! Makes a connection: the URL, TLS, and the settings of the connection.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

use super::fault::{Fault, words};
use super::link::{FlightStep, Link, check_thread, wait};
use super::schema;
use super::tls::Tls;

/// The longest time to make a connection, unless the URL says `connect_timeout`.
const CONNECT: Duration = Duration::from_secs(10);

/// Settings of the connection: name, new value, and the old value that is replaced (any value if this is empty).
/// A setting that the server does not know is left out, because other engines that speak the protocol of
/// PostgreSQL have other settings.
///
/// The store reaches the tables by their keys alone. So plans that read a whole table are switched off: a plan
/// that was made while a table was small would be used when the table is large. `jit` is off because compiling
/// such plans takes longer than running them. Plans are generic because a plan for one session would rely on the
/// planner's estimates of that session.
const SETTINGS: &str = "SELECT set_config(name, value, false)
    FROM (VALUES ('statement_timeout', '30s', '0'),
        ('lock_timeout', '5s', '0'),
        ('idle_in_transaction_session_timeout', '60s', '0'),
        ('synchronous_commit', 'on', 'off'),
        ('enable_seqscan', 'off', ''),
        ('enable_hashjoin', 'off', ''),
        ('enable_mergejoin', 'off', ''),
        ('plan_cache_mode', 'force_generic_plan', ''),
        ('jit', 'off', ''),
        ('client_min_messages', 'warning', '')) s (name, value, was)
    JOIN pg_settings USING (name) WHERE was = '' OR setting = was";

/// A URL in its parts.
pub(super) struct Address {
    config: Config,
    roots: Option<PathBuf>,
    /// The host and the database, for error messages; never the password.
    pub name: String,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, Fault> {
        let (url, roots) = take_roots(url)?;
        let mut config = Config::from_str(&url).map_err(|error| {
            Fault::Io(format!(
                "the URL of the database cannot be read ({}): write \
                 postgres://USER:PASSWORD@HOST:PORT/DATABASE?sslmode=require",
                words(&error)
            ))
        })?;
        config.connect_timeout(*config.get_connect_timeout().unwrap_or(&CONNECT));
        if config.get_application_name().is_none() {
            config.application_name("accp");
        }
        let host = match config.get_hosts().first() {
            Some(Host::Tcp(host)) => host.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => "localhost".to_owned(),
        };
        let port = config.get_ports().first().unwrap_or(&5432);
        let database = config.get_dbname().or(config.get_user());
        let name = format!("{host}:{port}/{}", database.unwrap_or_default());
        Ok(Self {
            config,
            roots,
            name,
        })
    }

    /// Connects, and sets up the connection and the tables.
    pub(super) fn connect(&self, patience: Duration) -> Result<Link, Fault> {
        check_thread()?;
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| {
            Fault::Io(format!("the system cannot wait for a connection: {error}"))
        })?;
        let certificates = |error: &dyn std::fmt::Display| {
            let file = self.roots.clone().unwrap_or_default();
            Fault::Io(format!(
                "the certificates in `{}` cannot be used: {error}",
                file.display()
            ))
        };
        let tls = Tls::new(self.roots.as_deref()).map_err(|error| certificates(&error))?;
        let connected = wait(&runtime, patience, self.config.connect(tls))?;
        let (client, connection) = connected.map_err(|error| self.refused(error))?;
        // The connection ends with the client. Its errors are dropped here, because each call reports them, too.
        runtime.spawn(async move { drop(connection.await) });
        let mut link = Link::new(runtime, client, patience);
        link.flight(&[FlightStep::Query(SETTINGS, Vec::new())])?;
        schema::prepare(&mut link)?;
        Ok(link)
    }

    /// Says what helps when a connection with TLS fails.
    fn refused(&self, error: tokio_postgres::Error) -> Fault {
        let is_tls = error.to_string().contains("TLS") && error.code().is_none();
        if !is_tls || self.config.get_ssl_mode() == SslMode::Disable {
            return Fault::Postgres(error);
        }
        Fault::Io(format!(
            "{}: name the file with the certificate of the server's authority \
             (`sslrootcert=FILE` in the URL), or say `sslmode=disable` where nobody listens in",
            words(&error)
        ))
    }
}

/// Takes the file of certificates out of the URL. With `require` the certificate is always checked, so
/// `verify-ca` and `verify-full` become `require`.
fn take_roots(url: &str) -> Result<(String, Option<PathBuf>), Fault> {
    let Some((base, query)) = url.split_once('?') else {
        return Ok((url.to_owned(), None));
    };
    let (mut roots, mut kept) = (None, Vec::new());
    for pair in query.split('&') {
        match pair.split_once('=') {
            Some(("sslrootcert", path)) => {
                let path = decoded(path).ok_or_else(|| {
                    Fault::Io("`sslrootcert` in the URL is not a path in UTF-8".into())
                })?;
                roots = Some(PathBuf::from(path));
            }
            Some(("sslmode", "verify-ca" | "verify-full")) => kept.push("sslmode=require"),
            _ => kept.push(pair),
        }
    }
    let query = kept.join("&");
    let mark = if query.is_empty() { "" } else { "?" };
    Ok((format!("{base}{mark}{query}"), roots))
}

/// Replaces each `%` and two digits by their byte.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let digits = std::str::from_utf8(after.get(..2)?).ok()?;
            bytes.push(u8::from_str_radix(digits, 16).ok()?);
            rest = &after[2..];
        } else {
            bytes.push(*first);
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_of_certificates_is_taken_out_of_the_url() {
        let of = |url| take_roots(url).unwrap();
        let (url, roots) =
            of("postgres://a:b@c/d?sslrootcert=%2Fetc%2Fmy%20ca.pem&sslmode=verify-full&x=1");
        assert_eq!(url, "postgres://a:b@c/d?sslmode=require&x=1");
        assert_eq!(roots, Some(PathBuf::from("/etc/my ca.pem")));
        assert_eq!(of("postgres://c/d?sslrootcert=x").0, "postgres://c/d");
        assert_eq!(of("host=c"), ("host=c".to_owned(), None));
    }

    #[test]
    fn errors_do_not_say_the_password() {
        let address = Address::parse("postgres://me:secret@db.example:6000/accp").unwrap();
        assert_eq!(address.name, "db.example:6000/accp");
        let Err(wrong) = Address::parse("postgres://me:secret@db:port/accp") else {
            unreachable!("the port is not a number");
        };
        let text = wrong.in_store("x").to_string();
        assert!(!text.contains("secret"), "{text}");
    }
}
