//! Services that handlers ask for by type: what `provide` puts in and `#[aggregate]`'s parameters take out.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The services of a domain, one a type.
#[derive(Default, Clone)]
pub(crate) struct Services {
    /// What was provided twice.
    doubled: Vec<&'static str>,
    by_type: HashMap<TypeId, (&'static str, Arc<dyn Any + Send + Sync>)>,
}

impl Services {
    pub(crate) fn insert<T: ?Sized + Send + Sync + 'static>(&mut self, service: Arc<T>) {
        if self.by_type.insert(TypeId::of::<T>(), (type_name::<T>(), Arc::new(service))).is_some() {
            self.doubled.push(type_name::<T>());
        }
    }

    pub(crate) fn get<T: ?Sized + 'static>(&self) -> Option<Arc<T>> {
        let (_, service) = self.by_type.get(&TypeId::of::<T>())?;
        service.downcast_ref::<Arc<T>>().cloned()
    }

    pub(crate) fn doubled(&self) -> &[&'static str] {
        &self.doubled
    }

    pub(crate) fn has(&self, id: TypeId) -> bool {
        self.by_type.contains_key(&id)
    }

    pub(crate) fn names(&self) -> Vec<&'static str> {
        let mut names: Vec<_> = self.by_type.values().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}
