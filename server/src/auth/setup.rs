//! The one-time link by which the operator of a public installation makes the first account.

/// 128 random bits, new at each start, shown in the log only.
pub struct SetupToken(String);

impl SetupToken {
    /// A new one.
    pub fn new() -> SetupToken {
        SetupToken(format!("{:032x}", rand::random::<u128>()))
    }

    /// What the link has to carry.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `given` is it. Takes the same time whatever the first difference.
    pub fn matches(&self, given: &str) -> bool {
        let differences = self.0.bytes().zip(given.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
        given.len() == self.0.len() && differences == 0
    }
}

impl Default for SetupToken {
    fn default() -> SetupToken {
        SetupToken::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_matches() {
        let token = SetupToken::new();
        assert!(token.matches(token.as_str()));
        assert!(
            !token.matches("") && !token.matches(&token.as_str()[1..]) && !token.matches(SetupToken::new().as_str())
        );
    }
}
