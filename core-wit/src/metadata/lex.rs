//! JSON's strings, numbers and literals: a text and a position -> the next token, or what was wanted instead.

/// A position in a text.
pub(super) struct Lexer<'a> {
    pub text: &'a str,
    pub pos: usize,
}

/// What the grammar wanted at the position.
pub(super) type Wanted = &'static str;

impl<'a> Lexer<'a> {
    pub fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.pos).copied()
    }

    pub fn white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.pos += 1;
        }
    }

    pub fn literal(&mut self, word: &str) -> Result<(), Wanted> {
        if !self.text.as_bytes()[self.pos..].starts_with(word.as_bytes()) {
            return Err("a JSON value");
        }
        self.pos += word.len();
        Ok(())
    }

    /// The string at the position, between its quotes, escapes as they are.
    pub fn string(&mut self) -> Result<&'a str, Wanted> {
        let bytes = self.text.as_bytes();
        let start = self.pos + 1;
        self.pos = start;
        loop {
            match self.peek() {
                None => return Err("the end of a string"),
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(&self.text[start..self.pos - 1]);
                }
                Some(b'\\') => {
                    self.pos += match bytes.get(self.pos + 1) {
                        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
                        Some(b'u') => {
                            let digits = bytes.get(self.pos + 2..self.pos + 6);
                            if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                                return Err("four hexadecimal digits after `\\u`");
                            }
                            6
                        }
                        _ => return Err("a valid escape in a string"),
                    };
                }
                Some(0..=0x1f) => return Err("no control character in a string"),
                Some(_) => self.pos += 1,
            }
        }
    }

    /// The number at the position, as it is written.
    pub fn number(&mut self) -> Result<&'a str, Wanted> {
        let start = self.pos;
        if self.peek() == Some(b'-') {
            self.pos += 1;
        }
        if self.peek() == Some(b'0') {
            self.pos += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.pos += 1;
            self.digits()?;
        }
        if let Some(b'e' | b'E') = self.peek() {
            self.pos += 1;
            if let Some(b'+' | b'-') = self.peek() {
                self.pos += 1;
            }
            self.digits()?;
        }
        Ok(&self.text[start..self.pos])
    }

    fn digits(&mut self) -> Result<(), Wanted> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return Err("a digit");
        }
        while let Some(b'0'..=b'9') = self.peek() {
            self.pos += 1;
        }
        Ok(())
    }
}
