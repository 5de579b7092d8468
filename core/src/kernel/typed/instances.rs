//! The kernels of a generic function: one for each list of its arguments, built when it is first asked for.

use std::any::TypeId;
use std::sync::PoisonError;

use crate::error::Result;
use crate::form::Kernel;
use crate::sync::RwLock;

/// Kernels by their generic arguments: as many as the program's text has.
pub struct Instances(RwLock<Vec<(TypeId, Kernel)>>);

impl Instances {
    /// None yet.
    #[must_use]
    pub const fn new() -> Self {
        Self(RwLock::new(Vec::new()))
    }

    /// The kernel for a type that stands for the arguments.
    ///
    /// # Errors
    /// What building it reports, each time anew.
    pub fn get<I: 'static>(&self, make: impl FnOnce() -> Result<Kernel>) -> Result<Kernel> {
        let id = TypeId::of::<I>();
        let find = |list: &[(TypeId, Kernel)]| {
            list.iter().find(|(known, _)| *known == id).map(|(_, kernel)| kernel.clone())
        };
        if let Some(found) = find(&self.0.read().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(found);
        }
        // Not under the lock: of two threads that build it, the second one's goes.
        let made = make()?;
        let mut list = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = find(&list) {
            return Ok(found);
        }
        list.push((id, made.clone()));
        Ok(made)
    }
}

impl Default for Instances {
    fn default() -> Self {
        Self::new()
    }
}
