//! An event, tuples, `Option`, `Vec`, `Result`, a `Decision`, an alias of one, and an error of the user's.

use freehold::prelude::*;

#[derive(Debug)]
struct OutOfPaper;

impl From<OutOfPaper> for DecideError {
    fn from(_: OutOfPaper) -> Self {
        Rejection::new("OUT_OF_PAPER", "there is no paper").into()
    }
}

#[derive(Clone, Default, Serialize, Deserialize)]
struct Brand {
    notes: Vec<String>,
}

macro_rules! commands {
    ($($name:ident)*) => { $(#[derive(Serialize, Deserialize)] struct $name {})* };
}
commands!(One Pair Maybe Nothing Many Checked Refused Both Plain Written);

#[derive(Event, Serialize, Deserialize)]
struct Noted(String);

#[derive(Event, Serialize, Deserialize)]
struct Erased {}

type Answer = Result<Decision<Brand, Written>, DecideError>;

fn note(text: &str) -> Noted {
    Noted(text.to_owned())
}

#[aggregate(context = "catalog")]
impl Brand {
    #[on_command(creates = "allowed")]
    fn one(&self, _: One) -> Noted {
        note("one")
    }

    #[on_command(creates = "allowed")]
    fn pair(&self, _: Pair) -> (Erased, Noted) {
        (Erased {}, note("pair"))
    }

    #[on_command(creates = "allowed")]
    fn maybe(&self, _: Maybe) -> Option<Noted> {
        Some(note("maybe"))
    }

    #[on_command(creates = "allowed")]
    async fn nothing(&self, _: Nothing) -> Option<Noted> {
        None
    }

    #[on_command(creates = "allowed")]
    async fn many(&self, _: Many) -> Vec<Noted> {
        vec![note("many"), note("more")]
    }

    #[on_command(creates = "allowed")]
    fn checked(&self, _: Checked) -> Result<Noted, OutOfPaper> {
        Ok(note("checked"))
    }

    #[on_command(creates = "allowed")]
    fn refused(&self, _: Refused) -> Result<Noted, OutOfPaper> {
        Err(OutOfPaper)
    }

    #[on_command(creates = "allowed")]
    async fn both(&self, _: Both) -> Result<(Noted, Option<Erased>, Vec<Noted>), DecideError> {
        Ok((note("both"), None, vec![note("of them")]))
    }

    #[on_command(creates = "allowed", produces = [Noted])]
    fn plain(&self, _: Plain) -> Decision {
        Decision::event(note("plain"))
    }

    #[on_command(creates = "allowed", produces = [Noted, Erased])]
    fn written(&self, _: Written) -> Answer {
        Ok(Decision::event(note("lost")).and(Erased {}).and(note("written")))
    }

    #[on_event]
    fn noted(&mut self, event: &Noted) {
        self.notes.push(event.0.clone());
    }

    #[on_event]
    fn erased(&mut self, _: &Erased) {
        self.notes.clear();
    }
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let domain = Domain::builder().store(freehold::MemoryStore::new()).build().await.unwrap();
        let id = AggregateId::<Brand>::new("contoso").unwrap();
        macro_rules! after {
            ($command:expr, $notes:expr) => {
                domain.send(&id, $command).await.unwrap();
                assert_eq!(domain.load(&id).await.unwrap().notes, $notes);
            };
        }
        after!(One {}, ["one"]);
        after!(Pair {}, ["pair"]);
        after!(Maybe {}, ["pair", "maybe"]);
        after!(Nothing {}, ["pair", "maybe"]);
        after!(Many {}, ["pair", "maybe", "many", "more"]);
        after!(Written {}, ["written"]);
        after!(Checked {}, ["written", "checked"]);
        after!(Both {}, ["written", "checked", "both", "of them"]);
        after!(Plain {}, ["written", "checked", "both", "of them", "plain"]);
        assert_eq!(domain.send(&id, Refused {}).await.unwrap_err().code(), "REJECTED");
    });
}
