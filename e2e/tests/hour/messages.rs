//! Troubleshooting.
use stable_hooks_e2e::world::World;
pub(crate) fn page(_world: &World) {}
