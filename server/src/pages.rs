//! The handlers of the pages, one file for each file in `oleada_app::pages`: load, call a domain function, render.

pub mod compare;
pub mod dashboard;
pub mod forms;
pub mod history;
pub mod home;
pub mod hosts;
pub mod plans;
pub mod runs;
pub mod series;
pub mod series_read;
pub mod sign_in;
pub mod submitted;
pub mod transfer;
pub mod trend;
pub mod trial;
