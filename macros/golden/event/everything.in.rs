#[derive(Event)]
#[allow(non_camel_case_types)]
#[event(name = "brand-created", version = 3)]
#[event(upcasters = [from_v1, upcast::from_v2])]
enum r#match {
    Now { r#type: String },
    Later,
}
