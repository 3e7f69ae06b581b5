//! The handlers of the pages, one file for each file in `oleada_app::pages`: load, call a domain function, render.

pub mod dashboard;
pub mod home;
pub mod sign_in;
