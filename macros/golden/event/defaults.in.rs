#[derive(Event)]
struct BrandCreated {
    name: String,
}
