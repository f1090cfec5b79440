//! What can be typed: the program's commands and options.

use clap::{Args, Parser, Subcommand};
use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

const EXAMPLES: &str = "\
Examples:
  Import the bundled brand names into ./catalog.db, or a file of your own:
    eshop-catalog
    eshop-catalog --db shop.db import names.tsv
  Create a brand, which prints its id, and give it another name:
    eshop-catalog create Contoso
    eshop-catalog rename contoso-5e8d0c1f2a3b 'Contoso Ltd'
  Who has a name, whatever its case and outer spaces?
    eshop-catalog holder ' CONTOSO LTD '
  Free the name, then delete; a deleted brand keeps the name that it has:
    eshop-catalog retire contoso-5e8d0c1f2a3b
    eshop-catalog delete contoso-5e8d0c1f2a3b
  The categories of another tenant, as JSON:
    eshop-catalog --category --tenant acme --json list
  A catalog that many machines share:
    eshop-catalog --db postgres://shop@localhost/shop list

Exit codes:
  0    done; an import too when names were rejected, for it lists them
  1    refused: NAME_TAKEN, BLANK_NAME, ALREADY_EXISTS, DELETED
  2    wrong usage: an unknown option, an id or a name that can't be one
  3    not found: no such brand or category, or nobody has the name
  4    trouble with the catalog's file or server, or with the file to import
  5    imported, but for lines that are no names
  6    try again: nothing is wrong with the command
  7    a bug in this program
  130  interrupted";

/// Brands and categories of a shop, whose names stay unique.
///
/// A name is unique among the brands of a tenant, and another time among its categories, whatever its case and outer
/// spaces. Without a command, the bundled brand names are imported; run it again, or kill it half-way and run it again:
/// no name is ever imported twice.
#[derive(Debug, Parser)]
#[command(name = "eshop-catalog", version, after_help = EXAMPLES)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) options: Options,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The options of every command.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// The catalog: an SQLite file, or the URL of a PostgreSQL database; `import` and `create` make it when there is none.
    ///
    /// A password in a URL can be seen in the list of processes: give it by the variable.
    #[arg(
        long,
        global = true,
        value_name = "FILE|postgres://..",
        env = "ESHOP_CATALOG_DB",
        hide_env_values = true,
        default_value = "catalog.db"
    )]
    pub(crate) db: Database,
    /// The schema of the catalog in a PostgreSQL database.
    #[arg(long, global = true, env = "ESHOP_CATALOG_SCHEMA", default_value = "eshop_catalog")]
    pub(crate) schema: String,
    /// Whose brands and categories: each tenant has names of its own.
    #[arg(long, global = true, default_value = freehold::DEFAULT_TENANT)]
    pub(crate) tenant: String,
    /// Works on categories instead of brands.
    #[arg(long, global = true)]
    pub(crate) category: bool,
    /// Answers in JSON, on stdout; errors too, on stderr.
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// Where the catalog is.
#[derive(Debug, Clone)]
pub(crate) enum Database {
    /// An SQLite file.
    File(PathBuf),
    /// A PostgreSQL database, by its URL.
    Server(String),
}

impl FromStr for Database {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        let is_url = ["postgres://", "postgresql://"].iter().any(|scheme| text.starts_with(scheme));
        Ok(if is_url { Self::Server(text.to_owned()) } else { Self::File(PathBuf::from(text)) })
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Imports names from a file, many at a time; safe to repeat and to kill.
    ///
    /// A line is `kind<TAB>name`, in UTF-8, the kind one of title, aka, dup, loc and old; the first line may be the header
    /// `kind<TAB>name`. Bad lines are reported and left out. Of lines with one name, the first one gets it.
    Import {
        /// The file; `-` reads the standard input.
        file: PathBuf,
    },
    /// Creates a brand or category, and prints its id.
    Create {
        /// Its name.
        name: String,
        /// Its id; by default one made from the name.
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        request: Request,
    },
    /// Gives it another name, or the one it has another spelling; the old name is free then.
    Rename {
        /// Its id: `list` shows it.
        id: String,
        /// The new name.
        new: String,
        #[command(flatten)]
        request: Request,
    },
    /// Gives its name up, for others to take; `rename` gives it one again.
    Retire(Target),
    /// Deletes it. It keeps the name that it has: `retire` it before if others shall have it.
    Delete(Target),
    /// Takes a delete back.
    Restore(Target),
    /// Shows one by its id.
    Show {
        /// Its id: `list` shows it.
        id: String,
    },
    /// Lists all by name, deleted ones too, with a count.
    List,
    /// Says who has a name.
    Holder {
        /// The name, in any spelling.
        name: String,
    },
}

/// What to change.
#[derive(Debug, Args)]
pub(crate) struct Target {
    /// Its id: `list` shows it.
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) request: Request,
}

/// How to change it.
#[derive(Debug, Args)]
pub(crate) struct Request {
    /// Makes it safe to repeat: sent again under the same id, the command answers as it did first and changes nothing.
    #[arg(long, value_name = "ID")]
    pub(crate) request_id: Option<String>,
}
