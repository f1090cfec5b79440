//! What a name is in this catalog, and how an aggregate takes one and gives one up.

use freehold::prelude::*;

/// Brand names are unique within a tenant of the catalog, whatever their case and outer spaces.
#[namespace]
pub const BRAND_NAMES: Namespace = Namespace::new("eshop-catalog.brand-name").normalized(TRIM_LOWERCASE);

/// Category names are too, and apart from those of brands: a brand and a category may have the same one.
#[namespace]
pub const CATEGORY_NAMES: Namespace = Namespace::new("eshop-catalog.category-name").normalized(TRIM_LOWERCASE);

/// The name holds nothing but spaces.
pub const BLANK_NAME: RejectionCode = RejectionCode::new("BLANK_NAME");
/// Another one of the tenant has the name.
pub const NAME_TAKEN: RejectionCode = RejectionCode::new("NAME_TAKEN");

/// Takes `name`, and returns its spelling. Rejects a blank one, or one that another holds.
pub(crate) async fn take(namespace: Namespace, name: &str, scope: &mut DecideScope<'_>) -> Result<String, DecideError> {
    let name = name.trim();
    let noun = scope.stream().aggregate.name.clone();
    if name.is_empty() {
        return Err(Rejection::new(BLANK_NAME, format!("a {noun} needs a name")).into());
    }
    scope.reserve(namespace, name).await?.or_reject(NAME_TAKEN, format!("another {noun} has this name"))?;
    Ok(name.to_owned())
}

/// Takes the name `new` and gives up `old`, unless the two are but spellings of one.
pub(crate) async fn exchange(
    namespace: Namespace,
    old: &str,
    new: &str,
    scope: &mut DecideScope<'_>,
) -> Result<String, DecideError> {
    let new = take(namespace, new, scope).await?;
    if !namespace.same_key(&new, old) {
        scope.release(namespace, old);
    }
    Ok(new)
}
