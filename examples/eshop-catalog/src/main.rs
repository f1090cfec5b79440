//! The program: `eshop-catalog --help` explains it.

mod catalog;
mod cli;
mod commands;
mod failure;
mod importing;
mod output;
mod progress;
mod session;

use clap::Parser;
use cli::{Cli, Command};
use eshop_catalog::{Brand, Category};
use failure::{Exit, Failure};
use importing::Source;
use output::Output;
use session::Session;
use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let output = Output::new(cli.options.json);
    let exit = run(cli).await.unwrap_or_else(|failure| {
        output.failure(&failure);
        failure.exit
    });
    exit.into()
}

async fn run(cli: Cli) -> Result<Exit, Failure> {
    let source = Source::of(cli.command.as_ref())?;
    let creates = matches!(cli.command, None | Some(Command::Import { .. } | Command::Create { .. }));
    let session = Session::open(&cli.options, creates).await?;
    let done = if cli.options.category {
        commands::run::<Category>(&session, cli.command, source).await
    } else {
        commands::run::<Brand>(&session, cli.command, source).await
    };
    let closed = session.close().await;
    let exit = done?;
    closed.map(|()| exit)
}

/// Help and version are answers; anything else is a failure, in JSON when that was asked for.
fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() && std::env::args_os().any(|argument| argument == "--json") {
        let message = error.render().to_string();
        Output::Json.failure(&Failure::new(Exit::Usage, "USAGE", message.trim_end()));
        return Exit::Usage.into();
    }
    let _ = error.print();
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}
