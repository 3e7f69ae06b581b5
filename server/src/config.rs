//! Every setting: flags, environment, defaults. Read once, before anything binds; nothing else reads the environment.
//!
//! [`ServeArgs`] is what was typed; [`Config`] is what it means.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU32;

use clap::{Args, ValueEnum};
use ipnet::IpNet;
use oleada_engine::net::AddressPolicy;
use url::Url;

use crate::secrets::{KeySource, NotAKey, SecretKey};

/// Where the data is kept.
#[derive(Args, Clone)]
pub struct DatabaseArgs {
    /// Database: sqlite:FILE (made if missing) or postgres://USER:PASSWORD@HOST/NAME
    #[arg(
        long,
        env = "OLEADA_DATABASE",
        value_name = "URL",
        default_value = "sqlite:oleada.db",
        hide_env_values = true
    )]
    pub database: String,
}

/// The password in a database URL is nobody's business.
impl fmt::Debug for DatabaseArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DatabaseArgs({})", without_password(&self.database))
    }
}

/// What the secrets of stored tests are encrypted with.
#[derive(Args, Clone)]
pub struct KeyArgs {
    /// Key for the passwords, tokens and cookies of stored tests: 32 bytes in base64 (`oleada new-key` prints one). Without it
    /// they cannot be read. Default with SQLite: a file beside the database, made at the first start, FILE.key; with Postgres a
    /// key has to be given. Better in the environment than as an option, which every process on the machine can read
    #[arg(long, env = "OLEADA_SECRET_KEY", value_name = "KEY", hide_env_values = true)]
    pub secret_key: Option<String>,
}

impl KeyArgs {
    /// The key, if one was given.
    ///
    /// # Errors
    /// If it is none; what was given is not repeated, because it may be nearly one.
    pub fn key(&self) -> Result<Option<SecretKey>, ConfigError> {
        let wrong = |error: NotAKey| ConfigError { option: "secret-key", problem: error.to_string() };
        self.secret_key.as_deref().map(|text| text.parse().map_err(wrong)).transpose()
    }
}

/// Says nothing about it.
impl fmt::Debug for KeyArgs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyArgs(hidden)")
    }
}

/// Options of `oleada serve`.
#[derive(Args, Clone, Debug)]
pub struct ServeArgs {
    /// Address and port to listen on. On a loopback address this is a local installation: loopback and private addresses may be
    /// tested, and loopback targets need no proof. On any other it is public: only global addresses, every host proved
    #[arg(long, env = "OLEADA_LISTEN", value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: String,
    #[command(flatten)]
    pub database: DatabaseArgs,
    #[command(flatten)]
    pub key: KeyArgs,
    /// How many runs may make load at once; others wait in a queue
    #[arg(long, env = "OLEADA_MAX_RUNS", value_name = "N", default_value_t = NonZeroU32::MIN)]
    pub max_runs: NonZeroU32,
    /// Network that may be tested although it is not global, such as 10.0.0.0/8; repeatable. Link-local and cloud-metadata
    /// addresses must be named exactly (169.254.1.2/32)
    #[arg(long = "allow-target", env = "OLEADA_ALLOW_TARGET", value_name = "CIDR", value_delimiter = ',')]
    pub allow_target: Vec<String>,
    /// Address at which people reach this installation, such as `https://load.example`. A public name makes the installation
    /// public even if it listens on loopback behind a proxy
    #[arg(long, env = "OLEADA_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Whether a reverse proxy in front tells the client's address in X-Forwarded-For
    #[arg(long, env = "OLEADA_TRUST_PROXY", value_enum, default_value_t = Proxy::No)]
    pub trust_proxy: Proxy,
    /// Let anybody make an account on a public installation (a local one always lets)
    #[arg(long, env = "OLEADA_OPEN_SIGN_UP")]
    pub open_sign_up: bool,
    /// Ask for a proof of ownership even for loopback targets of a local installation
    #[arg(long, env = "OLEADA_REQUIRE_PROOF")]
    pub require_proof: bool,
    /// What to log, such as info, debug or oleada_server=debug,sqlx=warn
    #[arg(long, env = "OLEADA_LOG", value_name = "FILTER", default_value = "info")]
    pub log: String,
}

/// Whether a proxy's word about the client's address is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Proxy {
    /// The address is that of the connection.
    No,
    /// The address is the last one in X-Forwarded-For, which the proxy added.
    Yes,
}

/// For whom this installation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// For the people on this machine.
    Local,
    /// For everybody who reaches it.
    Public,
}

/// How often somebody may try to sign in or sign up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttemptLimits {
    /// Tries in ten minutes from one client address (IPv6: one /64).
    pub per_address: u32,
    /// Failed tries in ten minutes for one account.
    pub per_account: u32,
}

/// All settings of a server, valid.
#[derive(Clone)]
pub struct Config {
    /// Where to listen; whoever calls `serve` binds it.
    pub listen: SocketAddr,
    /// Database URL, maybe with a password.
    pub database: String,
    /// Key for the secrets of stored tests, if one was given.
    pub secret_key: Option<SecretKey>,
    /// Runs at once.
    pub max_runs: NonZeroU32,
    /// For whom.
    pub mode: Mode,
    /// Networks that may be tested beyond what the mode allows.
    pub allow_target: Vec<IpNet>,
    /// Scheme, host and port at which people reach this; path `/`.
    pub public_url: Option<Url>,
    /// Whether X-Forwarded-For is believed.
    pub trust_proxy: Proxy,
    /// Public mode: whether people make accounts themselves.
    pub open_sign_up: bool,
    /// Local mode: whether loopback targets need a proof too.
    pub require_proof: bool,
    /// Log filter.
    pub log: String,
    /// Tries to sign in.
    pub attempts: AttemptLimits,
}

impl Default for Config {
    /// A local installation with `oleada.db` in the current folder.
    fn default() -> Config {
        Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            database: "sqlite:oleada.db".into(),
            secret_key: None,
            max_runs: NonZeroU32::MIN,
            mode: Mode::Local,
            allow_target: Vec::new(),
            public_url: None,
            trust_proxy: Proxy::No,
            open_sign_up: false,
            require_proof: false,
            log: "info".into(),
            attempts: AttemptLimits { per_address: 60, per_account: 10 },
        }
    }
}

/// Without the password of the database URL.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("listen", &self.listen)
            .field("database", &without_password(&self.database))
            .field("secret_key", &KeySource::of(&self.database, self.secret_key.as_ref()).map(|from| from.to_string()))
            .field("max_runs", &self.max_runs)
            .field("mode", &self.mode)
            .field("allow_target", &self.allow_target)
            .field("public_url", &self.public_url.as_ref().map(Url::as_str))
            .field("trust_proxy", &self.trust_proxy)
            .field("open_sign_up", &self.open_sign_up)
            .field("require_proof", &self.require_proof)
            .field("log", &self.log)
            .field("attempts", &self.attempts)
            .finish()
    }
}

impl Config {
    /// Which addresses may be dialled from this installation.
    pub fn address_policy(&self) -> AddressPolicy {
        let start = match self.mode {
            Mode::Local => AddressPolicy::local(),
            Mode::Public => AddressPolicy::public(),
        };
        self.allow_target.iter().fold(start, |policy, network| policy.allow(*network))
    }
}

/// A setting that cannot be: one line that names it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--{option} {problem}")]
pub struct ConfigError {
    /// The option's long name.
    pub option: &'static str,
    /// What is wrong, following the option's name.
    pub problem: String,
}

impl TryFrom<ServeArgs> for Config {
    type Error = ConfigError;

    fn try_from(args: ServeArgs) -> Result<Config, ConfigError> {
        let listen = parse_listen(&args.listen)?;
        let public_url = args.public_url.as_deref().map(parse_public_url).transpose()?;
        let allow_target = args.allow_target.iter().map(|text| parse_network(text)).collect::<Result<_, _>>()?;
        check_database(&args.database.database)?;
        check_log(&args.log)?;
        let secret_key = args.key.key()?;
        KeySource::of(&args.database.database, secret_key.as_ref())?;
        let seen_by_others = !listen.ip().is_loopback()
            || public_url.as_ref().is_some_and(|url| !is_local_name(url.host_str().unwrap_or("")));
        Ok(Config {
            listen,
            database: args.database.database,
            secret_key,
            max_runs: args.max_runs,
            mode: if seen_by_others { Mode::Public } else { Mode::Local },
            allow_target,
            public_url,
            trust_proxy: args.trust_proxy,
            open_sign_up: args.open_sign_up,
            require_proof: args.require_proof,
            log: args.log,
            attempts: Config::default().attempts,
        })
    }
}

/// A name or literal address that only this machine answers to: `localhost`, `x.localhost`, `127.0.0.1`, `[::1]`.
pub fn is_local_name(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let name = bare.trim_end_matches('.');
    name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
        || bare.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

fn parse_listen(text: &str) -> Result<SocketAddr, ConfigError> {
    let text = text.strip_prefix("localhost:").map_or_else(|| text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().map_err(|_| ConfigError {
        option: "listen",
        problem: format!("must be an address and a port, such as 127.0.0.1:8080 or [::]:80; {text:?} is not"),
    })
}

fn parse_public_url(text: &str) -> Result<Url, ConfigError> {
    let wrong = |why: &str| ConfigError {
        option: "public-url",
        problem: format!("must be like https://load.example; {text:?} {why}"),
    };
    let url = Url::parse(text).map_err(|_| wrong("is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(wrong("is neither http nor https"));
    }
    if url.path() != "/"
        || url.query().is_some()
        || url.fragment().is_some()
        || !url.username().is_empty()
        || url.password().is_some()
    {
        return Err(wrong("has more than scheme, host and port"));
    }
    Ok(url)
}

/// A network, or an address on its own.
fn parse_network(text: &str) -> Result<IpNet, ConfigError> {
    let text = text.trim();
    text.parse::<IpNet>().or_else(|_| text.parse::<IpAddr>().map(IpNet::from)).map_err(|_| ConfigError {
        option: "allow-target",
        problem: format!("must be a network such as 10.0.0.0/8 or an address; {text:?} is neither"),
    })
}

fn check_database(url: &str) -> Result<(), ConfigError> {
    let known = ["sqlite:", "postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme));
    known.then_some(()).ok_or_else(|| ConfigError {
        option: "database",
        problem: format!(
            "must be sqlite:FILE or postgres://USER:PASSWORD@HOST/NAME; {:?} is neither",
            without_password(url)
        ),
    })
}

fn check_log(filter: &str) -> Result<(), ConfigError> {
    tracing_subscriber::EnvFilter::try_new(filter)
        .map(|_| ())
        .map_err(|error| ConfigError { option: "log", problem: format!("is not a log filter: {error}") })
}

/// A URL as it may be shown.
fn without_password(text: &str) -> String {
    match Url::parse(text) {
        Ok(mut url) if url.password().is_some() => {
            // Fails only for URLs that cannot have a password, which this one has.
            let _ = url.set_password(Some("…"));
            url.to_string()
        }
        Ok(_) => text.to_owned(),
        Err(_) if text.contains('@') => "(unreadable URL)".into(),
        Err(_) => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        serve: ServeArgs,
    }

    fn config(arguments: &[&str]) -> Result<Config, ConfigError> {
        let line = Line::try_parse_from(std::iter::once("oleada").chain(arguments.iter().copied())).unwrap();
        Config::try_from(line.serve)
    }

    #[test]
    fn the_address_and_the_public_name_decide_the_mode() {
        assert_eq!(config(&[]).unwrap().mode, Mode::Local);
        assert_eq!(config(&["--listen", "[::1]:0"]).unwrap().mode, Mode::Local);
        assert_eq!(config(&["--listen", "localhost:80"]).unwrap().mode, Mode::Local);
        assert_eq!(config(&["--listen", "0.0.0.0:8080"]).unwrap().mode, Mode::Public);
        assert_eq!(config(&["--listen", "192.168.0.2:8080"]).unwrap().mode, Mode::Public);
        assert_eq!(config(&["--public-url", "https://load.example"]).unwrap().mode, Mode::Public);
        assert_eq!(config(&["--public-url", "http://localhost:8080"]).unwrap().mode, Mode::Local);
    }

    #[test]
    fn a_wrong_setting_is_named() {
        for (arguments, option) in [
            (["--listen", "8080"], "listen"),
            (["--allow-target", "10.0.0.0/33"], "allow-target"),
            (["--public-url", "https://load.example/app"], "public-url"),
            (["--database", "mysql://x"], "database"),
            (["--database", "postgres://a@b/c"], "secret-key"),
            (["--log", "=="], "log"),
        ] {
            assert_eq!(config(&arguments).unwrap_err().option, option, "{arguments:?}");
        }
    }

    #[test]
    fn networks_are_given_one_by_one_or_together() {
        let config = config(&["--allow-target", "10.0.0.0/8,::1", "--allow-target", "192.168.1.7"]).unwrap();
        let shown: Vec<_> = config.allow_target.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["10.0.0.0/8", "::1/128", "192.168.1.7/32"]);
    }

    #[test]
    fn the_password_of_the_database_is_not_shown() {
        let database = ["--database", "postgres://ana:geheim@db/oleada"];
        let key = SecretKey::generate().to_base64();
        let config = config(&[&database[..], &["--secret-key", &key]].concat()).unwrap();
        let shown = format!("{config:?}");
        assert!(shown.contains("ana") && !shown.contains("geheim") && !shown.contains(&key), "{shown}");
        assert!(shown.contains("given by --secret-key"), "{shown}");
    }
}
