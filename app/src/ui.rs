//! Building blocks of pages.

pub mod badge;
pub mod change;
pub mod chart;
pub mod empty;
pub mod form;
pub mod runs;
pub mod spark;
pub mod table;
pub mod time;
pub mod words;
