//! The program `oleada`.

use std::io::{IsTerminal as _, Read as _, Write as _};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Parser, Subcommand};
use oleada_server::accounts::{self, NewAccount, Refusal};
use oleada_server::auth::password::Passwords;
use oleada_server::config::{Config, DatabaseArgs, KeyArgs, ServeArgs};
use oleada_server::secrets::{KeySource, SecretKey, Vault};
use oleada_server::store::Db;
use oleada_server::store::users::Admission;
use oleada_server::{cli, plans, serve, shutdown_signal, telemetry};

/// Open, self-hosted load testing that tells the truth.
#[derive(Parser)]
#[command(name = "oleada", version)]
struct Line {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// The web application
    Serve(ServeArgs),
    /// One run from the terminal, without a database
    Bench(Box<cli::bench::Args>),
    /// A practice target
    Target(cli::target::Args),
    /// Bring the database up to date, encrypt what older versions left as clear text, and end
    Migrate {
        #[command(flatten)]
        database: DatabaseArgs,
        #[command(flatten)]
        key: KeyArgs,
    },
    /// Print a new key for --secret-key and end
    NewKey,
    /// Check the settings of `serve` and end
    CheckConfig(ServeArgs),
    /// Accounts
    #[command(subcommand)]
    User(UserCommand),
}

#[derive(Subcommand)]
enum UserCommand {
    /// Make an account; the password is read from standard input
    Add {
        #[command(flatten)]
        database: DatabaseArgs,
        /// E-mail address
        email: String,
        /// What to call the person
        #[arg(long, default_value = "")]
        name: String,
        /// May administer the installation (the first account always may)
        #[arg(long)]
        operator: bool,
    },
    /// Give an account a new password, read from standard input, and sign it out everywhere
    Passwd {
        #[command(flatten)]
        database: DatabaseArgs,
        /// E-mail address
        email: String,
    },
    /// List the accounts
    List(DatabaseArgs),
}

fn main() -> ExitCode {
    match Line::parse().command {
        Command::Bench(args) => cli::bench::main(&args),
        Command::Target(args) => cli::target::main(&args),
        Command::Serve(args) => end(start(args)),
        Command::CheckConfig(args) => end(check(args)),
        Command::Migrate { database, key } => {
            end(key.key().map_err(Into::into).and_then(|key| block_on(migrate(database.database, key))))
        }
        Command::NewKey => {
            println!("{}", SecretKey::generate().to_base64());
            ExitCode::SUCCESS
        }
        Command::User(command) => end(block_on(user(command))),
    }
}

/// Usage is 2 and comes from clap; everything that fails later is one line and 1.
fn end(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("oleada: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn block_on(work: impl Future<Output = anyhow::Result<()>>) -> anyhow::Result<()> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?.block_on(work)
}

fn start(args: ServeArgs) -> anyhow::Result<()> {
    let config = Config::try_from(args)?;
    telemetry::init(&config.log);
    tracing::debug!(?config, "settings");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("no runtime")?;
    let result = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind(config.listen)
            .await
            .with_context(|| format!("cannot listen on {}", config.listen))?;
        // For people and for whoever started this with port 0; connections wait until the database is open.
        println!("listening on http://{}", listener.local_addr()?);
        std::io::stdout().flush()?;
        serve(config, listener, shutdown_signal()).await
    });
    // What is still running after the farewell has had its time.
    runtime.shutdown_background();
    result
}

fn check(args: ServeArgs) -> anyhow::Result<()> {
    let config = Config::try_from(args)?;
    println!("{config:#?}");
    Ok(())
}

async fn migrate(database: String, key: Option<SecretKey>) -> anyhow::Result<()> {
    // Without a key the schema can be brought up to date all the same.
    let key = KeySource::of(&database, key.as_ref());
    let db = Db::open(&database).await?;
    println!("the database is up to date");
    match key {
        Ok(key) => {
            let sealed = plans::seal_all(&db, &Vault::open(&key)?).await?;
            println!("stored plans whose secrets were encrypted just now: {sealed}; the key is {key}");
        }
        Err(missing) => println!("secrets of stored tests were left as they are: {missing}"),
    }
    db.close().await;
    Ok(())
}

async fn user(command: UserCommand) -> anyhow::Result<()> {
    match command {
        UserCommand::Add { database, email, name, operator } => {
            let db = Db::open(&database.database).await?;
            let new = NewAccount { email, name, password: read_password()? };
            let admission = if operator { Admission::Operator } else { Admission::Anybody };
            let user = accounts::add(&db, &Passwords::new(), new, admission).await.map_err(in_a_line)?;
            println!("{} can sign in{}", user.email, if user.is_operator { " and is an operator" } else { "" });
        }
        UserCommand::Passwd { database, email } => {
            let db = Db::open(&database.database).await?;
            accounts::set_password(&db, &Passwords::new(), &email, &read_password()?).await.map_err(in_a_line)?;
            println!("the password was changed");
        }
        UserCommand::List(database) => {
            let db = Db::open(&database.database).await?;
            for user in db.users().await? {
                println!("{}\t{}\t{}", user.email, user.name, if user.is_operator { "operator" } else { "member" });
            }
        }
    }
    Ok(())
}

/// The first line of standard input: never an argument, which every process on the machine can read.
fn read_password() -> anyhow::Result<String> {
    let input = std::io::stdin();
    if input.is_terminal() {
        eprint!("Password (shown while you type): ");
    }
    let mut text = String::new();
    if input.is_terminal() {
        input.read_line(&mut text)?;
    } else {
        input.lock().take(10_000).read_to_string(&mut text)?;
    }
    Ok(text.lines().next().unwrap_or("").to_owned())
}

fn in_a_line(refusal: Refusal) -> anyhow::Error {
    match refusal {
        Refusal::Fields(errors) => {
            let faults: Vec<_> =
                errors.iter().map(|error| format!("{} {}", error.field, error.message).trim().to_owned()).collect();
            anyhow::anyhow!("{}", faults.join("; "))
        }
        Refusal::Error(error) => anyhow::anyhow!("{error}"),
    }
}
