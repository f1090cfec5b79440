#[namespace]
/// Brand names are unique within a tenant.
#[cfg(feature = "names")]
pub(crate) const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name").normalized(TRIM_LOWERCASE);
