//! The finished report's parts.
