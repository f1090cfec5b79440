use freehold::prelude::*;

#[derive(Event, Serialize, Deserialize)]
struct BrandCreated {
    #[serde(skip)]
    owner: std::rc::Rc<String>,
}

fn main() {}
