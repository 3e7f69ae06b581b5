//! The islands: all that reaches the browser.
