//! One line each about what is being done, on stderr, so that stdout stays free for what a command was asked for.

/// Says what is done now: `step("bundle", "compiling …")`.
pub fn step(who: &str, what: impl std::fmt::Display) {
    eprintln!("{who}: {what}");
}

/// Says why a command failed, with the causes.
pub fn error(error: &anyhow::Error) {
    eprintln!("error: {error:#}");
}

/// A count of bytes for people: 812 B, 34.5 kB, 1.2 MB.
pub fn bytes(count: usize) -> String {
    let count = count as f64;
    if count < 1000.0 {
        format!("{count} B")
    } else if count < 1_000_000.0 {
        format!("{:.1} kB", count / 1000.0)
    } else {
        format!("{:.1} MB", count / 1_000_000.0)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn bytes_are_said_in_the_unit_that_fits() {
        assert_eq!(super::bytes(0), "0 B");
        assert_eq!(super::bytes(999), "999 B");
        assert_eq!(super::bytes(34_512), "34.5 kB");
        assert_eq!(super::bytes(1_200_000), "1.2 MB");
    }
}
