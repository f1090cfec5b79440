//! The command `import`: reads the file, shows how far it is, and reports what came of it.

use crate::cli::Command;
use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::session::Session;
use eshop_catalog::import::{Refused, Report, import};
use eshop_catalog::item::Item;
use eshop_catalog::lines::{self, BadLine};
use serde_json::{Value, json};
use std::fmt::{self, Display, Formatter};
use std::io::Read;
use std::path::Path;

/// The names that are imported when no file is named.
const BUNDLED: &[u8] = include_bytes!("../data/brand-names.tsv");

/// A file to import.
#[derive(Debug, Default)]
pub(crate) struct Source {
    name: String,
    bytes: Vec<u8>,
}

impl Source {
    /// What the command imports: the bundled names for none, a file, or the standard input for `-`.
    pub(crate) fn of(command: Option<&Command>) -> Result<Option<Self>, Failure> {
        match command {
            None => Ok(Some(Self { name: "brand-names.tsv".to_owned(), bytes: BUNDLED.to_owned() })),
            Some(Command::Import { file }) => Self::read(file).map(Some),
            Some(_) => Ok(None),
        }
    }

    fn read(path: &Path) -> Result<Self, Failure> {
        let is_stdin = path.as_os_str() == "-";
        let name = if is_stdin { "standard input".to_owned() } else { path.display().to_string() };
        let bytes = if is_stdin {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
        } else {
            std::fs::read(path)
        };
        match bytes {
            Ok(bytes) => Ok(Self { name, bytes }),
            Err(error) => {
                let failure = Failure::new(Exit::File, "INPUT", format!("{name} can't be read: {error}"));
                Err(failure.next("Nothing was imported. Correct the path, or its rights, and run it again."))
            }
        }
    }
}

/// Imports; ends early, with what is done so far, when somebody presses Ctrl-C.
pub(crate) async fn run<T: Item>(session: &Session, source: Source) -> Result<Exit, Failure> {
    let (output, tenant) = (session.output, &*session.tenant);
    let (lines, bad) = lines::read(&source.bytes, T::NAMES);
    for BadLine { number, problem } in &bad {
        output.note(format_args!("{}:{number}: {problem}", source.name));
    }
    let mut report = Report::default();
    let mut progress = Progress::new(output, lines.len());
    let ended = tokio::select! {
        ended = import::<T>(&session.domain, tenant, lines, &mut report, |report| progress.show(report)) => Some(ended),
        Ok(()) = tokio::signal::ctrl_c() => None,
    };
    progress.clear();
    let told = Told { report: &report, bad: &bad, source: &source.name };
    let failure = match ended {
        Some(Ok(())) => {
            output.answer(&told, &told.to_json())?;
            return Ok(told.exit());
        }
        Some(Err(error)) => Failure::from(error),
        None => Failure::new(Exit::Interrupted, "INTERRUPTED", "interrupted"),
    };
    let (settled, names) = (report.settled(), report.names);
    Err(failure.next(format!("{settled} of {names} names were settled. Run it again: it goes on where it ended.")))
}

/// What is told of an import.
struct Told<'r> {
    report: &'r Report,
    bad: &'r [BadLine],
    source: &'r str,
}

impl Told<'_> {
    fn exit(&self) -> Exit {
        match (self.report.failed.first(), self.bad) {
            (Some(failed), _) => Failure::from(&failed.error).exit,
            (None, []) => Exit::Done,
            (None, _) => Exit::BadLines,
        }
    }

    fn to_json(&self) -> Value {
        let Report { names, created, already_there, rejected, failed, .. } = self.report;
        let bad = self.bad.iter().map(|bad| json!({ "line": bad.number, "problem": bad.problem }));
        json!({
            "names": names,
            "created": created,
            "already_there": already_there,
            "rejected": rejected.iter().map(refused_json).collect::<Vec<_>>(),
            "failed": failed.iter().map(refused_json).collect::<Vec<_>>(),
            "bad_lines": bad.collect::<Vec<_>>(),
        })
    }
}

fn refused_json(Refused { line, error }: &Refused) -> Value {
    let mut json = Failure::from(error).to_json()["error"].take();
    json["line"] = line.number.into();
    json["name"] = line.name.clone().into();
    json
}

impl Display for Told<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Report { names, created, already_there, rejected, failed, .. } = self.report;
        for Refused { line, error } in rejected {
            writeln!(f, "{}:{}: {:?} {error}", self.source, line.number, line.name)?;
        }
        for Refused { line, error } in failed {
            writeln!(f, "{}:{}: {:?} failed, {}: {error}", self.source, line.number, line.name, error.code())?;
        }
        write!(f, "{names} names: {created} created, {already_there} already there, {} rejected", rejected.len())?;
        if !failed.is_empty() {
            write!(f, ", {} failed", failed.len())?;
        }
        if !self.bad.is_empty() {
            write!(f, "; {} bad lines left out", self.bad.len())?;
        }
        Ok(())
    }
}
