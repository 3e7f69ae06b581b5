//! Command lines as they are pasted: read by the rules of POSIX shells and bash, or of Windows' cmd; and quoted again.

use crate::ImportError;

/// What was pasted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commands {
    /// The words of each command, without quotes. Redirections are gone.
    pub commands: Vec<Vec<String>>,
    /// What a shell would have put values in for, such as `$TOKEN` or `$(date)`; it stands in the words as it was written.
    pub unknown: Vec<String>,
}

/// Splits a text into commands and words.
///
/// # Errors
/// A sentence where a quote is not closed.
pub fn commands(text: &str) -> Result<Commands, ImportError> {
    let mut reader = Reader { rest: text, word: None, words: Vec::new(), skip: false, out: Commands::default() };
    if is_cmd(text) {
        reader.cmd()?
    } else {
        reader.posix()?
    }
    Ok(reader.out)
}

/// Whether the words call a tool, by its name or path; a prompt may stand before it.
pub fn is_call(words: &[String], tool: &str) -> bool {
    call(words, tool).is_some()
}

/// The arguments of a call of `tool`.
pub fn call<'a>(words: &'a [String], tool: &str) -> Option<&'a [String]> {
    let before = |word: &str| {
        let variable =
            word.split_once('=').is_some_and(|(n, _)| n.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        ["$", "%", "#", ">", "sudo", "time"].contains(&word) || variable
    };
    let at = words.iter().position(|word| !before(word))?;
    let name = words[at].rsplit(['/', '\\']).next()?.trim_end_matches(".exe");
    (name == tool).then(|| &words[at + 1..])
}

/// A text as one word for POSIX shells. It must not hold NUL, which no argument can.
pub fn quote(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+=:,./-".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Browsers copy for cmd with `^` before quotes and at ends of lines. Behind a single quote a caret may be anything.
fn is_cmd(text: &str) -> bool {
    let start = &text[..text.find('\'').unwrap_or(text.len())];
    [" ^\"", " ^\n", " ^\r\n"].iter().any(|mark| start.contains(mark))
}

struct Reader<'a> {
    rest: &'a str,
    /// Bytes, since `$'\xc3\xa9'` writes them one by one.
    word: Option<Vec<u8>>,
    words: Vec<String>,
    /// The next word is the file of a redirection.
    skip: bool,
    out: Commands,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(c)
    }

    fn take(&mut self, start: &str) -> bool {
        match self.rest.strip_prefix(start) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn put(&mut self, c: char) {
        self.word.get_or_insert_default().extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
    }

    fn end_word(&mut self) {
        if let Some(bytes) = self.word.take()
            && !std::mem::take(&mut self.skip)
        {
            self.words.push(text_of(&bytes));
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.skip = false;
        if !self.words.is_empty() {
            self.out.commands.push(std::mem::take(&mut self.words));
        }
    }

    fn newline(&mut self) -> bool {
        self.take("\r\n") || self.take("\n")
    }

    fn posix(&mut self) -> Result<(), ImportError> {
        while let Some(c) = self.next() {
            let outside = self.word.is_none();
            match c {
                '\n' => self.end_command(),
                c if c.is_whitespace() => self.end_word(),
                '\\' if self.newline() => {}
                '\\' => {
                    if let Some(c) = self.next() {
                        self.put(c);
                    }
                }
                '\'' => self.until_quote()?,
                '"' => self.double_quoted()?,
                '$' if self.take("'") => self.ansi_quoted()?,
                '$' if self.take("\"") => self.double_quoted()?,
                '$' | '`' => self.expansion(c),
                '#' if outside => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                // Inside a word they belong to an address that somebody forgot to quote.
                '&' | ';' | '|' if outside || self.rest.chars().next().is_none_or(char::is_whitespace) => {
                    self.end_command();
                }
                '>' | '<' if self.word.as_ref().is_none_or(|word| word.iter().all(u8::is_ascii_digit)) => {
                    self.word = None;
                    self.rest = self.rest.trim_start_matches(['>', '&', '|', '<']);
                    self.skip = true;
                }
                c => self.put(c),
            }
        }
        self.end_command();
        Ok(())
    }

    fn until_quote(&mut self) -> Result<(), ImportError> {
        let end = self.rest.find('\'').ok_or_else(unclosed)?;
        let (inside, rest) = self.rest.split_at(end);
        self.word.get_or_insert_default().extend_from_slice(inside.as_bytes());
        self.rest = &rest[1..];
        Ok(())
    }

    fn double_quoted(&mut self) -> Result<(), ImportError> {
        self.word.get_or_insert_default();
        loop {
            match self.next().ok_or_else(unclosed)? {
                '"' => return Ok(()),
                '\\' if self.newline() => {}
                '\\' if self.rest.starts_with(['"', '\\', '$', '`']) => {
                    if let Some(c) = self.next() {
                        self.put(c);
                    }
                }
                c @ ('$' | '`') => self.expansion(c),
                c => self.put(c),
            }
        }
    }

    /// `$NAME`, `${NAME}`, `$(command)` and the like stay as they are, and are told.
    fn expansion(&mut self, first: char) {
        self.put(first);
        // Not all that follows: there may be very many.
        let ahead = &self.rest[..self.rest.char_indices().nth(60).map_or(self.rest.len(), |(at, _)| at)];
        let name = ahead.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(ahead.len());
        let what = match first {
            '`' => "`…`".to_owned(),
            _ if ahead.starts_with('(') => "$(…)".to_owned(),
            _ if ahead.starts_with('{') => {
                format!("${}", &ahead[..ahead.find('}').map_or(1, |end| end + 1)])
            }
            _ if name > 0 => format!("${}", &ahead[..name]),
            _ => return,
        };
        if self.out.unknown.len() < 20 && !self.out.unknown.contains(&what) {
            self.out.unknown.push(what);
        }
    }

    /// `$'…'`: escapes as in C. `\u` may write one half of a pair (UTF-16), as browsers do.
    fn ansi_quoted(&mut self) -> Result<(), ImportError> {
        self.word.get_or_insert_default();
        let mut half: Option<u32> = None;
        loop {
            let c = self.next().ok_or_else(unclosed)?;
            if c == '\'' {
                return Ok(());
            }
            if c != '\\' {
                self.put(c);
                continue;
            }
            let escaped = self.next().ok_or_else(unclosed)?;
            let byte = match escaped {
                'n' => b'\n',
                't' => b'\t',
                'r' => b'\r',
                'a' => 7,
                'b' => 8,
                'v' => 11,
                'f' => 12,
                'e' | 'E' => 27,
                '\\' | '\'' | '"' | '?' => escaped as u8,
                'c' => self.next().map_or(0, |c| (c as u32 & 0x1f) as u8),
                'x' => match self.digits(16, 2) {
                    Some((value, _)) => value as u8,
                    None => {
                        self.put('\\');
                        b'x'
                    }
                },
                '0'..='7' => {
                    let (value, count) = self.digits(8, 2).unwrap_or_default();
                    ((escaped as u32 - u32::from(b'0')) * 8u32.pow(count) + value) as u8
                }
                'u' | 'U' => {
                    let value = self.digits(16, if escaped == 'u' { 4 } else { 8 }).map(|(value, _)| value);
                    match (value, half.take()) {
                        (Some(low @ 0xDC00..0xE000), Some(high)) => {
                            let code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
                            self.put(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
                        }
                        (Some(high @ 0xD800..0xDC00), _) if self.rest.starts_with("\\u") => half = Some(high),
                        (Some(code), _) => self.put(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
                        (None, _) => {
                            self.put('\\');
                            self.put(escaped);
                        }
                    }
                    continue;
                }
                other => {
                    self.put('\\');
                    self.put(other);
                    continue;
                }
            };
            self.word.get_or_insert_default().push(byte);
        }
    }

    /// A number of at most `most` digits, and how many it has.
    fn digits(&mut self, base: u32, most: usize) -> Option<(u32, u32)> {
        let count = self.rest.chars().take(most).take_while(|c| c.is_digit(base)).count();
        let (digits, rest) = self.rest.split_at(count);
        self.rest = rest;
        Some((u32::from_str_radix(digits, base).ok()?, count as u32))
    }

    /// What stands between carets and quotes, by the rules of cmd and of the C runtime.
    fn cmd(&mut self) -> Result<(), ImportError> {
        let plain = uncaret(self.rest);
        let mut quoted = false;
        let mut chars = plain.chars().peekable();
        while let Some(c) = chars.next() {
            match c {
                '\\' => {
                    let mut count = 1;
                    while chars.next_if_eq(&'\\').is_some() {
                        count += 1;
                    }
                    // Backslashes are escapes only before a quote.
                    let before_quote = chars.peek() == Some(&'"');
                    (0..if before_quote { count / 2 } else { count }).for_each(|_| self.put('\\'));
                    if before_quote && count % 2 == 1 {
                        chars.next();
                        self.put('"');
                    }
                }
                '"' if quoted && chars.next_if_eq(&'"').is_some() => self.put('"'),
                '"' => {
                    quoted = !quoted;
                    self.word.get_or_insert_default();
                }
                '\n' if !quoted => self.end_command(),
                '&' if !quoted && self.word.is_none() => self.end_command(),
                c if !quoted && c.is_whitespace() => self.end_word(),
                c => self.put(c),
            }
        }
        if quoted {
            return Err(unclosed());
        }
        self.end_command();
        Ok(())
    }
}

/// Takes cmd's carets away: before a line break both go, before anything else the caret goes. Between quotes that have no
/// caret themselves they stay.
fn uncaret(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quoted = false;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '^' || quoted {
            quoted ^= c == '"';
            out.push(c);
            continue;
        }
        if let Some(after) = rest.strip_prefix("\r\n").or_else(|| rest.strip_prefix('\n')) {
            rest = after;
        }
        if let Some(after) = rest.strip_prefix("\r\n") {
            out.push('\n');
            rest = after;
        } else if let Some(next) = rest.chars().next() {
            out.push(next);
            rest = &rest[next.len_utf8()..];
        }
    }
    out
}

fn unclosed() -> ImportError {
    ImportError::Broken("A quote in the command is not closed: copy all of it.".to_owned())
}

/// UTF-8; a byte that is none is the letter of its number, as browsers mean it.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|byte| char::from(*byte)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<Vec<String>> {
        commands(text).unwrap().commands
    }

    #[test]
    fn words_are_read_as_a_shell_reads_them() {
        for (text, expected) in [
            (r#"a 'b c' "d e" f\ g"#, vec!["a", "b c", "d e", "f g"]),
            (r#"'it'\''s' "say \"hi\" \n" '' """#, vec!["it's", r#"say "hi" \n"#, "", ""]),
            ("a \\\n b \\\r\n c", vec!["a", "b", "c"]),
            (r"$'\u00e9 \'q\' \x41\n\101\7' $'\ud83d\ude00'", vec!["é 'q' A\nA\u{7}", "😀"]),
            (r"$'\xc3\xa9' $'\xe9' $'\U0001F600' $'\q\x'", vec!["é", "é", "😀", r"\q\x"]),
            ("http://a/?x=1&y=2;z a>b", vec!["http://a/?x=1&y=2;z", "a>b"]),
            ("a 2>/dev/null >> 'log' b # c 'd", vec!["a", "b"]),
            ("'é\n\n' \"$'x'\"", vec!["é\n\n", "$'x'"]),
        ] {
            assert_eq!(words(text), [expected], "{text}");
        }
        assert_eq!(
            words("curl a ;\ncurl b & curl c | jq .\n\n"),
            [vec!["curl", "a"], vec!["curl", "b"], vec!["curl", "c"], vec!["jq", "."]]
        );
        for open in ["'a", "\"a", "$'a", "$'a\\", "\"a\\"] {
            assert!(commands(open).is_err(), "{open}");
        }
    }

    #[test]
    fn what_a_shell_would_fill_in_stays_and_is_told() {
        let read = commands(r#"curl "$URL/${id}" '$no' \$no $5 `date` $(date)"#).unwrap();
        assert_eq!(read.unknown, ["$URL", "${id}", "$5", "`…`", "$(…)"]);
        assert_eq!(read.commands[0][1..4], ["$URL/${id}", "$no", "$no"]);
    }

    #[test]
    fn windows_commands_are_read() {
        let old = "curl \"https://a.test/?x=1&y=^2\" ^\r\n  -H \"A: \\\"b\\\"\" ^\r\n  --data-raw \"c\"\"d\\\\\"";
        assert_eq!(words(old), [["curl", "https://a.test/?x=1&y=^2", "-H", "A: \"b\"", "--data-raw", "c\"d\\"]]);
        let new =
            "curl ^\"https://a.test/?x=^%^6D^&y=2^\" ^\n  --data-raw ^\"^{^\\^\"a^\\^\":1^}^\n\nz^\" &\ncurl ^\"b^\"";
        assert_eq!(
            words(new),
            [vec!["curl", "https://a.test/?x=%6D&y=2", "--data-raw", "{\"a\":1}\nz"], vec!["curl", "b"]]
        );
    }

    #[test]
    fn calls_are_found_behind_prompts_and_paths() {
        for text in ["curl a", "$ curl a", "/usr/bin/curl a", "A=b curl a", "C:\\\\bin\\\\curl.exe a"] {
            assert_eq!(call(&words(text)[0], "curl"), Some(&["a".to_owned()][..]), "{text}");
        }
        assert_eq!(call(&words("curly a")[0], "curl"), None);
        assert_eq!(call(&words("curl a")[0], "ab"), None);
    }

    #[test]
    fn a_quoted_text_is_one_word_again() {
        for text in ["", "a", "a b", "it's", "$x `y` \\ \"", "é\n\r\t!", "-n", "#x", "a;b&c"] {
            assert_eq!(words(&quote(text)), [[text]]);
        }
    }
}
