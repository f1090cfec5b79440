#[derive(Event)]
#[event(name = "$created", version = 2, version = 3, nam = 1)]
struct BrandCreated {
    #[event(name = "name")]
    name: String,
}
