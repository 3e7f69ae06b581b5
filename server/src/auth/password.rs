//! Passwords: argon2id, a few at a time, never on the threads that answer requests.

use std::sync::Arc;

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use tokio::sync::Semaphore;

use oleada_engine::plan::limits::PASSWORD_CHARS;

/// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// Each needs 19 MiB and a core for some 30 ms; more at once would only slow the pages down.
const AT_ONCE: usize = 2;

/// Hashes and checks passwords.
#[derive(Clone)]
pub struct Passwords {
    turns: Arc<Semaphore>,
    /// What is checked when there is no account, so that both answers take equally long.
    nobody: Arc<str>,
}

/// What a check said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// Wrong password.
    Wrong,
    /// Right.
    Right,
    /// Right, but the hash was made with other parameters than today's and should be made anew.
    RightButOld,
}

impl Default for Passwords {
    fn default() -> Passwords {
        Passwords::new()
    }
}

impl Passwords {
    /// Ready to use.
    pub fn new() -> Passwords {
        // A well-formed hash with today's parameters that belongs to no password anybody knows.
        let salt: [u8; 16] = rand::random();
        let output: [u8; 32] = rand::random();
        let nobody = format!(
            "$argon2id$v=19$m={MEMORY_KIB},t={PASSES},p={LANES}${}${}",
            base64_no_pad(&salt),
            base64_no_pad(&output)
        );
        Passwords { turns: Arc::new(Semaphore::new(AT_ONCE)), nobody: nobody.into() }
    }

    /// A PHC string for a new password.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub async fn hash(&self, password: &str) -> anyhow::Result<String> {
        let password = password.to_owned();
        self.in_turn(move || {
            let hash =
                hasher()?.hash_password(password.as_bytes()).map_err(|error| anyhow::anyhow!("argon2: {error}"))?;
            Ok(hash.to_string())
        })
        .await
    }

    /// Checks a password against a stored hash; `None` stands for an account that does not exist: it costs as much time and is
    /// always wrong.
    ///
    /// # Errors
    /// If the stored hash is no PHC string.
    pub async fn check(&self, password: &str, hash: Option<&str>) -> anyhow::Result<Check> {
        // Longer ones can have no account, and hashing megabytes is work that strangers must not order.
        let password = if password.chars().count() > PASSWORD_CHARS.1 { String::new() } else { password.to_owned() };
        let exists = hash.is_some();
        let hash = hash.unwrap_or(&self.nobody).to_owned();
        let check = self.in_turn(move || check_now(&password, &hash)).await?;
        Ok(if exists { check } else { Check::Wrong })
    }

    async fn in_turn<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> anyhow::Result<T> + Send + 'static,
    ) -> anyhow::Result<T> {
        let turn = self.turns.clone().acquire_owned().await?;
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        })
        .await?
    }
}

fn hasher() -> anyhow::Result<Argon2<'static>> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(|error| anyhow::anyhow!("argon2: {error}"))?;
    Ok(Argon2::new(Algorithm::Argon2id, Version::V0x13, params))
}

fn check_now(password: &str, hash: &str) -> anyhow::Result<Check> {
    let parsed =
        PasswordHash::new(hash).map_err(|error| anyhow::anyhow!("a stored password hash is unreadable: {error}"))?;
    let today =
        parsed.algorithm.as_str() == "argon2id" && hash.contains(&format!("$m={MEMORY_KIB},t={PASSES},p={LANES}$"));
    match hasher()?.verify_password(password.as_bytes(), &parsed) {
        Ok(()) if today => Ok(Check::Right),
        Ok(()) => Ok(Check::RightButOld),
        Err(argon2::password_hash::Error::PasswordInvalid) => Ok(Check::Wrong),
        Err(error) => Err(anyhow::anyhow!("argon2: {error}")),
    }
}

fn base64_no_pad(bytes: &[u8]) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::STANDARD_NO_PAD.encode(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_password_is_known_again_and_no_other_is() {
        let passwords = Passwords::new();
        let hash = passwords.hash("correct horse battery").await.unwrap();
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_eq!(passwords.check("correct horse battery", Some(&hash)).await.unwrap(), Check::Right);
        assert_eq!(passwords.check("correct horse battery ", Some(&hash)).await.unwrap(), Check::Wrong);
        assert_eq!(passwords.check("correct horse battery", None).await.unwrap(), Check::Wrong);
        assert!(passwords.check("x", Some("plain text")).await.is_err());
    }

    #[tokio::test]
    async fn a_hash_with_old_parameters_is_accepted_and_reported() {
        let weak = Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::new(64, 1, 1, None).unwrap());
        let hash = weak.hash_password(b"long enough").unwrap().to_string();
        assert_eq!(Passwords::new().check("long enough", Some(&hash)).await.unwrap(), Check::RightButOld);
    }
}
