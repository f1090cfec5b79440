#[derive(Event)]
#[deprecated]
struct BrandCreated;
