//! What programs read: the live events of a run and its result document.

pub mod export;
pub mod live;
pub mod range;
pub mod results;
