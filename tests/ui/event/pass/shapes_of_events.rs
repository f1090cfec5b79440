//! Structs of every shape and enums are events; a deprecated one can still be read.

#![deny(warnings)]

use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
struct Unit;

#[derive(Event, Serialize, Deserialize)]
#[event(name = "pair")]
#[event(version = 2, upcasters = [steps::from_v1])]
struct Pair(u8, String);

mod steps {
    use freehold::UpcastError;
    use freehold::json::Value;

    pub(super) fn from_v1(event: Value) -> Result<Value, UpcastError> {
        Ok(Value::Array(vec![event, "".into()]))
    }
}

#[derive(Event, Serialize, Deserialize)]
enum Moved {
    Up { by: u8 },
    Down,
}

#[deprecated]
#[derive(Event, Serialize, Deserialize)]
struct Old {}

fn main() {
    use freehold::Event as _;
    assert_eq!((Unit::NAME, Unit::VERSION), ("Unit", 1));
    assert_eq!((Pair::NAME, Pair::VERSION, Pair::UPCASTERS.len()), ("pair", 2, 1));
    assert_eq!(Moved::NAME, "Moved");
    let _ = (Unit, Pair(1, String::new()), Moved::Up { by: 1 }, Moved::Down);
}
