//! Requests with places to fill in: the variables of a client, and what a request becomes with them.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::SystemTime;

use super::http1::kept::Unreadable;
use crate::outcome::ErrorKind;
use crate::plan::request::{Escape, Filled, Pattern, escaped};
use crate::plan::scenario::DataSpec;
use crate::plan::template::{BuiltIn, Numbers, Part};
use crate::plan::{Plan, Request, limits};
use crate::result::parameter_is_secret;

/// Why a variable has no value. The text is a clause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Fault {
    #[error("not set yet")]
    Unset,
    #[error("no such thing in the reply")]
    NotFound,
    #[error("that request was not sent")]
    NotSent,
    #[error("that request had no complete reply")]
    NoReply,
    #[error("the value is larger than 64 kB")]
    TooLong,
    #[error("the body is not JSON")]
    NotJson,
    #[error("{0}")]
    Unreadable(Unreadable),
}

/// A variable of the plan.
#[derive(Debug)]
struct Variable {
    name: String,
    /// Where its value comes from, for people.
    origin: String,
    /// Its column of the data.
    column: Option<usize>,
}

/// All variables of a plan; each has a number.
#[derive(Debug, Default)]
pub(super) struct Variables {
    all: Vec<Variable>,
    numbers: HashMap<String, usize>,
}

impl Variables {
    pub(super) fn of(plan: &Plan) -> Variables {
        let mut variables = Variables::default();
        let columns = plan.spec().data.as_ref().map_or(&[][..], |data| &data.columns);
        for (n, name) in columns.iter().enumerate() {
            let number = variables.number(name);
            variables.all[number].column = Some(n);
            variables.all[number].origin = "a column of the data".to_owned();
        }
        for (n, request) in plan.requests().iter().enumerate() {
            for extract in &request.extract {
                let number = variables.number(&extract.name);
                let origin = &mut variables.all[number].origin;
                if origin.is_empty() {
                    *origin = format!("{} {} of request {}", extract.from, extract.what, n + 1).replace("  ", " ");
                }
            }
        }
        variables
    }

    /// The number of a variable, a new one if need be.
    pub(super) fn number(&mut self, name: &str) -> usize {
        *self.numbers.entry(name.to_owned()).or_insert_with(|| {
            self.all.push(Variable { name: name.to_owned(), origin: String::new(), column: None });
            self.all.len() - 1
        })
    }

    fn missing(&self, number: usize, fault: Fault) -> Unfilled {
        let Variable { name, origin, column } = &self.all[number];
        let detail = match (fault, column) {
            _ if origin.is_empty() => {
                format!("{name}: no request takes it from a reply, and no column of data has its name")
            }
            (Fault::Unset, Some(_)) => format!("{name} ({origin}): no row is left"),
            (fault, _) => format!("{name} ({origin}): {fault}"),
        };
        Unfilled { kind: ErrorKind::MissingVariable, detail }
    }
}

/// A client's values.
#[derive(Debug, Default)]
pub(super) struct Values {
    /// Taken from replies, by the variable's number; no memory until the first.
    taken: Vec<Result<Box<str>, Fault>>,
    /// The row of data it has.
    pub(super) row: Option<usize>,
    /// How often it has begun the list before.
    pub(super) iteration: u64,
    /// Its number in the run.
    client: u64,
}

impl Values {
    /// None as yet; `client`: the client's number in the run.
    pub(super) fn of(client: u64) -> Values {
        Values { client, ..Values::default() }
    }

    pub(super) fn set(&mut self, number: usize, value: Result<Box<str>, Fault>) {
        if self.taken.len() <= number {
            self.taken.resize(number + 1, Err(Fault::Unset));
        }
        self.taken[number] = value;
    }

    /// Values of variables whose names say that they are secrets.
    pub(super) fn secrets<'a>(
        &'a self,
        variables: &'a Variables,
        data: Option<&'a DataSpec>,
    ) -> impl Iterator<Item = &'a str> {
        let secret = |(_, variable): &(usize, &Variable)| parameter_is_secret(&variable.name);
        let all = variables.all.iter().enumerate().filter(secret);
        all.filter_map(move |(number, _)| self.get(variables, data, number).ok())
    }

    fn get<'a>(&'a self, variables: &Variables, data: Option<&'a DataSpec>, number: usize) -> Result<&'a str, Fault> {
        let fault = match self.taken.get(number) {
            Some(Ok(value)) => return Ok(value),
            Some(Err(fault)) => *fault,
            None => Fault::Unset,
        };
        let column = variables.all[number].column.zip(data).zip(self.row);
        column.and_then(|((column, data), row)| data.rows.get(row)?.get(column)).map(|value| &**value).ok_or(fault)
    }
}

/// What a worker has for filling in.
#[derive(Debug)]
pub(super) struct Supply {
    /// Its number among the workers, and how many there are: each takes every so-manieth turn.
    worker: u64,
    workers: u64,
    /// Turns taken of each list of numbers.
    turns: RefCell<Vec<u64>>,
    rows: Cell<u64>,
    pub(super) random: RefCell<fastrand::Rng>,
}

impl Supply {
    pub(super) fn new(worker: usize, workers: usize, lists: usize) -> Supply {
        Supply {
            worker: worker as u64,
            workers: workers as u64,
            turns: RefCell::new(vec![0; lists]),
            rows: Cell::new(0),
            random: RefCell::new(fastrand::Rng::new()),
        }
    }

    /// The `n`-th turn of this worker among the turns of all.
    pub(super) fn turn(&self, n: u64) -> u64 {
        self.worker + n * self.workers
    }

    pub(super) fn row_turn(&self) -> u64 {
        let n = self.rows.get();
        self.rows.set(n + 1);
        self.turn(n)
    }

    fn number(&self, list: usize, numbers: &Numbers) -> i64 {
        let mut turns = self.turns.borrow_mut();
        let turn = self.turn(turns[list]);
        turns[list] += 1;
        numbers.value(turn, |below| self.random.borrow_mut().u64(..below))
    }

    fn uuid(&self) -> String {
        let mut bits = self.random.borrow_mut().u128(..);
        bits = bits & !(0xf << 76) | 4 << 76;
        bits = bits & !(0b11 << 62) | 0b10 << 62;
        let digits = format!("{bits:032x}");
        [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
    }
}

/// A request is not sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unfilled {
    pub(super) kind: ErrorKind,
    pub(super) detail: String,
}

/// A [`Filled`], ready for use: variables and lists of numbers have their places.
#[derive(Debug)]
pub(super) struct Form {
    path: Blank,
    headers: Vec<Blank>,
    cookies: Vec<Blank>,
    body: Option<Blank>,
    /// The variables it needs.
    needs: Vec<usize>,
}

#[derive(Debug)]
struct Blank(Vec<Piece>);

#[derive(Debug)]
enum Piece {
    Text(String),
    Variable(usize, Escape),
    BuiltIn(BuiltIn),
    Numbers(usize, Numbers),
}

impl Form {
    /// `lists` counts the lists of numbers.
    pub(super) fn new(filled: &Filled, variables: &mut Variables, lists: &mut usize) -> Form {
        let mut blank = |pattern: &Pattern| Blank::new(pattern, variables, lists);
        let path = blank(&filled.path);
        let headers = filled.headers.iter().map(&mut blank).collect();
        let cookies = filled.cookies.iter().map(&mut blank).collect();
        let body = filled.body.as_ref().map(&mut blank);
        let needs = filled.variables().into_iter().map(|name| variables.number(name)).collect();
        Form { path, headers, cookies, body, needs }
    }

    /// `request` with everything filled in, without what is done with the reply.
    pub(super) fn fill(&self, request: &Request, from: &Source<'_>) -> Result<Request, Unfilled> {
        for number in &self.needs {
            from.values
                .get(from.variables, from.data, *number)
                .map_err(|fault| from.variables.missing(*number, fault))?;
        }
        let unusable =
            |what: &str, why: &str| Err(Unfilled { kind: ErrorKind::UnusableValue, detail: format!("{what}: {why}") });
        let mut target = request.target.clone();
        target.path = self.path.text(from);
        if target.path.len() > limits::URL_BYTES {
            return unusable("the address", &format!("would be longer than {} bytes", limits::URL_BYTES));
        }
        let mut headers = Vec::with_capacity(request.headers.len());
        for ((name, _), blank) in request.headers.iter().zip(&self.headers) {
            let value = blank.text(from);
            if breaks_out(&value) {
                return unusable(&format!("header “{name}”"), "a value with a line break or control character");
            }
            if value.len() > limits::VARIABLE_BYTES {
                return unusable(&format!("header “{name}”"), "would be larger than 64 kB");
            }
            headers.push((name.clone(), value));
        }
        let mut cookies = Vec::with_capacity(request.cookies.len());
        for ((name, _), blank) in request.cookies.iter().zip(&self.cookies) {
            let value = blank.text(from);
            if breaks_out(&value) || value.contains(';') || value.len() > limits::VARIABLE_BYTES {
                return unusable(
                    &format!("cookie “{name}”"),
                    "a value with a semicolon, a line break or control character, or larger than 64 kB",
                );
            }
            cookies.push((name.clone(), value));
        }
        let body = self.body.as_ref().map(|blank| blank.text(from).into_bytes());
        if body.as_ref().is_some_and(|body| body.len() > limits::BODY_BYTES) {
            return unusable("the body", "would be larger than 1 MB");
        }
        Ok(Request {
            method: request.method,
            target,
            headers,
            cookies,
            body: body.or_else(|| request.body.clone()),
            filled: None,
            extract: Vec::new(),
            assert: Vec::new(),
            weight: request.weight,
        })
    }
}

/// Whether a value would end the line it stands in.
fn breaks_out(value: &str) -> bool {
    value.chars().any(|c| c.is_control() && c != '\t')
}

impl Blank {
    fn new(pattern: &Pattern, variables: &mut Variables, lists: &mut usize) -> Blank {
        let piece = |(part, escape): &(Part, Escape)| match part {
            Part::Text(text) => Piece::Text(text.clone()),
            Part::Variable(name) => Piece::Variable(variables.number(name), *escape),
            Part::BuiltIn(built_in) => Piece::BuiltIn(*built_in),
            Part::Numbers(numbers) => {
                *lists += 1;
                Piece::Numbers(*lists - 1, numbers.clone())
            }
        };
        Blank(pattern.0.iter().map(piece).collect())
    }

    /// What we make ourselves needs no escaping: it is letters, digits and dashes.
    fn text(&self, from: &Source<'_>) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Variable(number, escape) => {
                    let value = from.values.get(from.variables, from.data, *number).unwrap_or_default();
                    match escape {
                        Escape::None => text.push_str(value),
                        other => text.push_str(&escaped(value, *other)),
                    }
                }
                Piece::BuiltIn(built_in) => from.built_in(*built_in, &mut text),
                Piece::Numbers(list, numbers) => number(&mut text, from.supply.number(*list, numbers)),
            }
        }
        text
    }
}

fn number(text: &mut String, number: impl std::fmt::Display) {
    // Writing to a String does not fail.
    let _ = write!(text, "{number}");
}

/// What a request is filled from.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) variables: &'a Variables,
    pub(super) data: Option<&'a DataSpec>,
    pub(super) values: &'a Values,
    pub(super) supply: &'a Supply,
}

impl Source<'_> {
    fn built_in(&self, built_in: BuiltIn, text: &mut String) {
        match built_in {
            BuiltIn::Uuid => text.push_str(&self.supply.uuid()),
            BuiltIn::Now => {
                let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
                number(text, now.as_millis());
            }
            BuiltIn::Random(length) => {
                let mut random = self.supply.random.borrow_mut();
                text.extend((0..length).map(|_| random.alphanumeric()));
            }
            BuiltIn::Iteration => number(text, self.values.iteration),
            BuiltIn::Client => number(text, self.values.client),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlanSpec, RequestSpec};

    struct Setup {
        plan: Plan,
        variables: Variables,
        form: Form,
        supply: Supply,
    }

    fn setup(request: RequestSpec) -> Setup {
        let plan = Plan::try_from(PlanSpec { requests: vec![request], ..Default::default() }).unwrap();
        let (mut variables, mut lists) = (Variables::of(&plan), 0);
        let form = Form::new(plan.requests()[0].filled.as_ref().unwrap(), &mut variables, &mut lists);
        Setup { plan, variables, form, supply: Supply::new(1, 3, lists) }
    }

    impl Setup {
        fn fill(&self, values: &Values) -> Result<Request, Unfilled> {
            let from = Source { variables: &self.variables, data: None, values, supply: &self.supply };
            self.form.fill(&self.plan.requests()[0], &from)
        }
    }

    fn header(value: &str) -> RequestSpec {
        RequestSpec {
            url: "http://a.test/{{x}}?q={{x}}".into(),
            headers: vec![("X".into(), value.into())],
            ..Default::default()
        }
    }

    #[test]
    fn values_are_escaped_where_they_stand_and_cannot_leave_their_line() {
        let setup = setup(header("{{x}}"));
        let mut values = Values::default();
        let number = setup.variables.numbers["x"];
        let missing = setup.fill(&values).unwrap_err();
        assert_eq!(missing.kind, ErrorKind::MissingVariable);
        assert_eq!(missing.detail, "x: no request takes it from a reply, and no column of data has its name");
        values.set(number, Ok("a/b &c".into()));
        let filled = setup.fill(&values).unwrap();
        assert_eq!((&*filled.target.path, &*filled.headers[0].1), ("/a/b%20&c?q=a%2Fb%20%26c", "a/b &c"));
        for bad in ["a\r\nY: 1", "a\nb", "a\0", "\u{7f}"] {
            values.set(number, Ok(bad.into()));
            let unfilled = setup.fill(&values).unwrap_err();
            assert_eq!(unfilled.kind, ErrorKind::UnusableValue);
            assert_eq!(unfilled.detail, "header “X”: a value with a line break or control character");
        }
        values.set(number, Ok("x".repeat(9000).into()));
        assert!(setup.fill(&values).unwrap_err().detail.starts_with("the address: "));
    }

    #[test]
    fn built_ins_and_turns() {
        let setup = setup(header("{{$uuid}} {{$random(9)}} {{$iteration}} {{$client}} {{$now}} %{10:99} {{x}}"));
        let mut values = Values { iteration: 5, client: 7, ..Values::default() };
        values.set(setup.variables.numbers["x"], Ok("".into()));
        let text = |values: &Values| setup.fill(values).unwrap().headers[0].1.clone();
        let (first, second) = (text(&values), text(&values));
        let words: Vec<&str> = first.split(' ').collect();
        let uuid = words[0].as_bytes();
        assert!(uuid.len() == 36 && uuid[14] == b'4' && b"89ab".contains(&uuid[19]), "{first}");
        assert!(words[1].len() == 9 && words[1].bytes().all(|b| b.is_ascii_alphanumeric()), "{first}");
        assert!(words[4].parse::<u64>().unwrap() > 1_700_000_000_000);
        // The second of three workers has turns 1, 4, 7 …
        assert_eq!((words[2], words[3], words[5]), ("5", "7", "11"));
        assert_eq!(second.split(' ').nth(5), Some("14"));
        assert_ne!(words[0], second.split(' ').next().unwrap());
    }
}
