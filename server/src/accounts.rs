//! Accounts: making one, signing in.

use std::net::IpAddr;

use oleada_app::view::FieldError;
use oleada_engine::plan::limits::{EMAIL_CHARS, NAME_CHARS, PASSWORD_CHARS};

use crate::auth::User;
use crate::auth::password::{Check, Passwords};
use crate::error::{Error, Result};
use crate::state::AppState;
use crate::store::Db;
use crate::store::users::{Admission, NewUser};

/// A message for a field of a form; an empty name means the form as a whole.
pub fn field_error(field: &str, message: impl Into<String>) -> FieldError {
    FieldError { field: field.into(), message: message.into() }
}

/// What a form is answered with if it is not accepted: the form again, or an error of its own.
#[derive(Debug)]
pub enum Refusal {
    /// Faults by field: show the form again.
    Fields(Vec<FieldError>),
    /// Anything else.
    Error(Error),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Error(error)
    }
}

impl From<crate::store::Error> for Refusal {
    fn from(error: crate::store::Error) -> Refusal {
        Refusal::Error(error.into())
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Refusal {
        Refusal::Error(error.into())
    }
}

/// A new account as it was typed.
#[derive(Clone, Default)]
pub struct NewAccount {
    /// E-mail address.
    pub email: String,
    /// What to call the person; empty = the part of the address before the @.
    pub name: String,
    /// Password.
    pub password: String,
}

/// A new account that can be made.
struct ValidAccount {
    email: String,
    name: String,
    password: String,
}

impl TryFrom<NewAccount> for ValidAccount {
    type Error = Vec<FieldError>;

    fn try_from(new: NewAccount) -> Result<ValidAccount, Vec<FieldError>> {
        let email = normal_email(&new.email);
        let name = new.name.trim().to_owned();
        let faults = [
            email_fault(&email).map(|text| field_error("email", text)),
            name_fault(&name).map(|text| field_error("name", text)),
            password_fault(&new.password, &email).map(|text| field_error("password", text)),
        ];
        let faults: Vec<_> = faults.into_iter().flatten().collect();
        if !faults.is_empty() {
            return Err(faults);
        }
        let name = if name.is_empty() { email.split('@').next().unwrap_or(&email).to_owned() } else { name };
        Ok(ValidAccount { email, name, password: new.password })
    }
}

/// An address as it is stored and looked up.
pub fn normal_email(text: &str) -> String {
    text.trim().to_lowercase()
}

fn email_fault(email: &str) -> Option<String> {
    if email.is_empty() {
        return Some("is needed".into());
    }
    if email.chars().count() > EMAIL_CHARS {
        return Some(format!("is longer than {EMAIL_CHARS} characters"));
    }
    let plausible = email.split_once('@').is_some_and(|(user, host)| {
        let clean = |part: &str| {
            !part.is_empty()
                && !part.contains(['@', ',', ';', '<', '>', '"', '(', ')'])
                && !part.chars().any(|c| c.is_whitespace() || c.is_control())
        };
        clean(user) && clean(host) && !host.starts_with('.') && !host.ends_with('.') && !host.contains("..")
    });
    (!plausible).then(|| "is not an e-mail address; write one like ana@shop.example".into())
}

fn name_fault(name: &str) -> Option<String> {
    if name.chars().count() > NAME_CHARS {
        return Some(format!("is longer than {NAME_CHARS} characters"));
    }
    name.chars().any(char::is_control).then(|| "contains a control character".into())
}

fn password_fault(password: &str, email: &str) -> Option<String> {
    let (least, most) = PASSWORD_CHARS;
    let length = password.chars().count();
    if length == 0 {
        return Some("is needed".into());
    }
    if length < least {
        return Some(format!("must have at least {least} characters"));
    }
    if length > most {
        return Some(format!("must have at most {most} characters"));
    }
    (password.to_lowercase() == *email).then(|| "must not be the e-mail address".into())
}

/// Makes an account.
///
/// # Errors
/// Faults by field, or the database's.
pub async fn add(db: &Db, passwords: &Passwords, new: NewAccount, admission: Admission) -> Result<User, Refusal> {
    let valid = ValidAccount::try_from(new).map_err(Refusal::Fields)?;
    let password_hash = passwords.hash(&valid.password).await?;
    let row = NewUser { email: &valid.email, name: &valid.name, password_hash: &password_hash };
    match db.add_user(&row, admission).await {
        Ok(Some(user)) => Ok(user.into()),
        Ok(None) => Err(Refusal::Error(Error::Forbidden(closed(admission).into()))),
        Err(error) if error.is_unique_violation() => {
            Err(Refusal::Fields(vec![field_error("email", "has an account already; sign in instead")]))
        }
        Err(error) => Err(error.into()),
    }
}

fn closed(admission: Admission) -> &'static str {
    match admission {
        Admission::First => "This installation has been set up already. Sign in instead.",
        _ => "This installation has not been set up yet. Its operator finds a link for that in its log.",
    }
}

/// How somebody may make an account, with the setup token they showed.
///
/// # Errors
/// [`Error::Forbidden`] if they may not.
pub async fn admission(state: &AppState, token: &str) -> Result<Admission> {
    if state.is_local() {
        return Ok(Admission::Anybody);
    }
    if !state.db.is_set_up().await? {
        return if state.setup.matches(token) {
            Ok(Admission::First)
        } else {
            Err(Error::Forbidden(closed(Admission::Later).into()))
        };
    }
    if state.config.open_sign_up {
        return Ok(Admission::Later);
    }
    Err(Error::Forbidden(
        "This installation does not let people make accounts themselves. Ask its operator for one.".into(),
    ))
}

/// Whether people may make accounts themselves, the first one aside.
pub fn is_sign_up_open(state: &AppState) -> bool {
    state.is_local() || state.config.open_sign_up
}

/// Checks an address and a password, at most so often.
///
/// # Errors
/// One fault that does not tell which of the two is wrong; [`Error::TooMany`].
pub async fn authenticate(state: &AppState, from: IpAddr, email: &str, password: &str) -> Result<User, Refusal> {
    let email = normal_email(email);
    let missing: Vec<_> = [("email", email.is_empty()), ("password", password.is_empty())]
        .into_iter()
        .filter(|(_, empty)| *empty)
        .map(|(field, _)| field_error(field, "is needed"))
        .collect();
    if !missing.is_empty() {
        return Err(Refusal::Fields(missing));
    }
    state.attempts.from_address(from)?;
    state.attempts.for_account(&email)?;
    let row = state.db.user_by_email(&email).await?;
    let check = state.passwords.check(password, row.as_ref().map(|row| row.password_hash.as_str())).await?;
    let Some(row) = row.filter(|_| check != Check::Wrong) else {
        state.attempts.failed(&email);
        return Err(Refusal::Fields(vec![field_error("", "The e-mail address or the password is wrong.")]));
    };
    state.attempts.succeeded(&email);
    if check == Check::RightButOld {
        let hash = state.passwords.hash(password).await?;
        state.db.refresh_password_hash(row.id, &hash).await?;
    }
    Ok(row.into())
}

/// Gives an account a new password and ends its sessions.
///
/// # Errors
/// Faults by field, or the database's.
pub async fn set_password(db: &Db, passwords: &Passwords, email: &str, password: &str) -> Result<(), Refusal> {
    let email = normal_email(email);
    if let Some(fault) = password_fault(password, &email) {
        return Err(Refusal::Fields(vec![field_error("password", fault)]));
    }
    let Some(user) = db.user_by_email(&email).await? else {
        return Err(Refusal::Fields(vec![field_error("email", "has no account")]));
    };
    let hash = passwords.hash(password).await?;
    db.set_password(user.id, &hash).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_plausible_or_not() {
        for good in ["ana@shop.example", "a+b@x", "ü@bücher.test"] {
            assert_eq!(email_fault(&normal_email(good)), None, "{good}");
        }
        for bad in [
            "",
            "ana",
            "@x",
            "ana@",
            "a@b@c",
            "a b@c",
            "a@.c",
            "a@c.",
            "a@b..c",
            "<a@b>",
            "a@b\u{0}",
            &format!("{}@x", "a".repeat(300)),
        ] {
            assert!(email_fault(&normal_email(bad)).is_some(), "{bad:?}");
        }
        assert_eq!(normal_email(" Ana@Shop.Example "), "ana@shop.example");
    }

    #[test]
    fn every_wrong_field_is_named_once() {
        let wrong = NewAccount { email: "x".into(), name: "n".repeat(201), password: "short".into() };
        let fields: Vec<_> = ValidAccount::try_from(wrong).err().unwrap().into_iter().map(|e| e.field).collect();
        assert_eq!(fields, ["email", "name", "password"]);
    }
}
