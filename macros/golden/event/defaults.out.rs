#[automatically_derived]
impl ::freehold::Event for BrandCreated {
    const NAME: &'static str = "BrandCreated";
    const VERSION: u32 = 1;
}
