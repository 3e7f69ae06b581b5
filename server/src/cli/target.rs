//! `oleada target`: a practice target that behaves and misbehaves as its paths say, and counts what it was asked.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args as ClapArgs;
use tokio::net::TcpListener;

use super::target_raw::{Log, serve_connection};

/// Connections served at once; further ones wait in the listen queue.
const CONNECTIONS: usize = 60_000;

const PATHS: &str = "\
Paths:
  /                     ok, two bytes
  /delay/{ms}           ok, after a wait
  /status/{code}        a status from 200 to 999
  /bytes/{n}            n bytes
  /chunked/{n}          n bytes in chunks, with a trailer
  /drip/{bytes}/{ms}    bytes spread over a time
  /flaky/{percent}      so many of a hundred are answered with 500
  /redirect/{hops}      so many redirects, then /
  /echo                 the request as it came
  /cookie               sets a cookie and shows the one that came
  /close                closes without a reply
  /cut                  closes in the middle of a reply
  /hold/{ms}            says nothing, then closes
  /garbage              answers with something that is not HTTP
  /endless-head         a reply's head that does not end
  /counts               how often each path was asked for, as JSON";

/// A target to practise on: it behaves and misbehaves as the path says.
#[derive(ClapArgs, Debug)]
#[command(after_help = PATHS)]
pub struct Args {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9900")]
    listen: SocketAddr,
}

/// Runs until Ctrl-C or SIGTERM.
pub fn main(args: &Args) -> ExitCode {
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return fail(&format!("cannot start: {error}")),
    };
    runtime.block_on(async {
        let listener = match TcpListener::bind(args.listen).await {
            Ok(listener) => listener,
            Err(error) => return fail(&format!("cannot listen on {}: {error}", args.listen)),
        };
        match listener.local_addr() {
            Ok(address) => eprintln!("oleada target: listening on http://{address}"),
            Err(error) => return fail(&error.to_string()),
        }
        tokio::select! {
            () = serve(listener) => ExitCode::FAILURE,
            () = crate::shutdown_signal() => ExitCode::SUCCESS,
        }
    })
}

fn fail(text: &str) -> ExitCode {
    eprintln!("oleada target: {text}");
    ExitCode::from(3)
}

/// Serves connections until dropped. Running out of descriptors pauses accepting for a moment and loses no connection.
pub async fn serve(listener: TcpListener) {
    let log = Arc::new(Log::default());
    let places = Arc::new(tokio::sync::Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
        match listener.accept().await {
            Ok((stream, _)) => {
                let log = Arc::clone(&log);
                tokio::spawn(async move {
                    // A client that goes away is what a target lives with.
                    let _ = serve_connection(stream, &log).await;
                    drop(place);
                });
            }
            Err(_) => super::target_raw::pause(std::time::Duration::from_millis(20)).await,
        }
    }
}
