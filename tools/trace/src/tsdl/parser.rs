// SPDX-License-Identifier: MIT
//! Recursive-descent parser of TSDL (CTF 1.8, appendix C): blocks, attributes, declarations.
//!
//! Place in the flow: `lexer` -> `parser` -> `blocks` and `build_type`. `type_parser` reads types.
//! Nesting is bounded by [`MAX_NESTING`], and every loop consumes a token or ends.

use super::ast::{Attribute, BlockKind, Item, Path, Value};
use super::lexer::{Lexer, Token};
use crate::error::MetadataError;

/// Deepest nesting of braces and types in metadata text.
pub(super) const MAX_NESTING: u32 = 48;

pub(crate) struct Parser<'a> {
    lexer: Lexer<'a>,
    current: Token,
    /// Line of `current`.
    pub(super) line: u32,
    ahead: Option<(Token, u32)>,
}

/// Parses a whole text. What precedes an error is returned with it.
pub(crate) fn parse(text: &str) -> (Vec<Item>, Option<MetadataError>) {
    let mut items = Vec::new();
    let error = Parser::new(text).and_then(|mut parser| {
        while parser.current != Token::End {
            if let Some(item) = parser.item(0)? {
                items.push(item);
            }
        }
        Ok(())
    });
    (items, error.err())
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self, MetadataError> {
        let mut lexer = Lexer::new(text);
        let current = lexer.next()?;
        let line = lexer.line;
        Ok(Self { lexer, current, line, ahead: None })
    }

    pub(super) fn error<T>(&self, what: impl Into<String>) -> Result<T, MetadataError> {
        Err(MetadataError::new(self.line, what))
    }

    pub(super) fn unexpected<T>(&self, wanted: &str) -> Result<T, MetadataError> {
        let found = match &self.current {
            Token::Word(word) => format!("`{word}`"),
            Token::Number(number) => format!("`{number}`"),
            Token::Text(_) => "a string".into(),
            Token::Mark(mark) => format!("`{}`", char::from(*mark).escape_default()),
            Token::Becomes => "`:=`".into(),
            Token::Ellipsis => "`...`".into(),
            Token::Arrow => "`->`".into(),
            Token::End => "the end of the metadata".into(),
        };
        self.error(format!("expected {wanted}, found {found}"))
    }

    pub(super) fn current(&self) -> &Token {
        &self.current
    }

    /// Takes the current token.
    pub(super) fn advance(&mut self) -> Result<Token, MetadataError> {
        let (next, line) = match self.ahead.take() {
            Some(ahead) => ahead,
            None => {
                let next = self.lexer.next()?;
                (next, self.lexer.line)
            }
        };
        self.line = line;
        Ok(std::mem::replace(&mut self.current, next))
    }

    /// The token after the current one.
    fn ahead(&mut self) -> Result<&Token, MetadataError> {
        if self.ahead.is_none() {
            let next = self.lexer.next()?;
            self.ahead = Some((next, self.lexer.line));
        }
        Ok(self.ahead.as_ref().map_or(&Token::End, |(token, _)| token))
    }

    pub(super) fn is_mark(&self, mark: u8) -> bool {
        self.current == Token::Mark(mark)
    }

    /// Takes the current token if it is `mark`.
    pub(super) fn take_mark(&mut self, mark: u8) -> Result<bool, MetadataError> {
        let found = self.is_mark(mark);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    pub(super) fn expect_mark(&mut self, mark: u8) -> Result<(), MetadataError> {
        if self.take_mark(mark)? {
            return Ok(());
        }
        self.unexpected(&format!("`{}`", char::from(mark)))
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(&self.current, Token::Word(found) if found == word)
    }

    pub(super) fn expect_word(&mut self) -> Result<String, MetadataError> {
        match self.current {
            Token::Word(_) => match self.advance()? {
                Token::Word(word) => Ok(word),
                _ => self.unexpected("a name"),
            },
            _ => self.unexpected("a name"),
        }
    }

    /// The items between braces; the opening brace is already taken.
    pub(super) fn items_until_brace(&mut self, depth: u32) -> Result<Vec<Item>, MetadataError> {
        if depth > MAX_NESTING {
            return self.error("blocks and types are nested too deeply");
        }
        let mut items = Vec::new();
        while !self.take_mark(b'}')? {
            if self.current == Token::End {
                return self.unexpected("`}`");
            }
            if let Some(item) = self.item(depth)? {
                items.push(item);
            }
        }
        Ok(items)
    }

    /// One item; `None` for a lone semicolon.
    fn item(&mut self, depth: u32) -> Result<Option<Item>, MetadataError> {
        let line = self.line;
        if self.take_mark(b';')? {
            return Ok(None);
        }
        let Token::Word(word) = &self.current else {
            return self.unexpected("a declaration");
        };
        let word = word.clone();
        let item = match (word.as_str(), self.ahead()?) {
            (_, Token::Mark(b'=' | b'.') | Token::Becomes) => {
                self.attribute_or_assignment(depth)?
            }
            ("typedef", _) => self.typedef(depth)?,
            ("typealias", _) => self.typealias(depth)?,
            ("integer" | "floating_point" | "string" | "struct" | "variant" | "enum", _) => {
                self.declaration(depth)?
            }
            (_, Token::Mark(b'{')) => self.block(line, &word, depth)?,
            _ => self.declaration(depth)?,
        };
        Ok(Some(item))
    }

    fn block(&mut self, line: u32, word: &str, depth: u32) -> Result<Item, MetadataError> {
        let kind = match word {
            "trace" => BlockKind::Trace,
            "env" => BlockKind::Environment,
            "clock" => BlockKind::Clock,
            "stream" => BlockKind::Stream,
            "event" => BlockKind::Event,
            _ => BlockKind::Other,
        };
        self.advance()?;
        self.advance()?;
        let items = match kind {
            BlockKind::Other => {
                self.skip_to_closing_brace()?;
                Vec::new()
            }
            _ => self.items_until_brace(depth + 1)?,
        };
        self.take_mark(b';')?;
        Ok(Item::Block { line, kind, items })
    }

    /// Skips a block that is not needed; ends at its brace or at the end of the text.
    fn skip_to_closing_brace(&mut self) -> Result<(), MetadataError> {
        let mut open = 1u64;
        while open > 0 {
            match self.advance()? {
                Token::Mark(b'{') => open += 1,
                Token::Mark(b'}') => open -= 1,
                Token::End => return self.unexpected("`}`"),
                _ => {}
            }
        }
        Ok(())
    }

    fn attribute_or_assignment(&mut self, depth: u32) -> Result<Item, MetadataError> {
        let line = self.line;
        let key = self.path()?;
        if self.current == Token::Becomes {
            self.advance()?;
            let ty = self.type_expression(depth + 1)?;
            self.expect_mark(b';')?;
            return Ok(Item::Assignment { line, key, ty });
        }
        self.expect_mark(b'=')?;
        let value = self.value()?;
        Ok(Item::Attribute(Attribute { line, key, value }))
    }

    /// `key = value; ...` up to the closing brace, as in `integer { ... }`.
    pub(super) fn attributes(&mut self) -> Result<Vec<Attribute>, MetadataError> {
        let mut attributes = Vec::new();
        while !self.take_mark(b'}')? {
            if self.take_mark(b';')? {
                continue;
            }
            let line = self.line;
            let key = self.path()?;
            self.expect_mark(b'=')?;
            let value = self.value()?;
            attributes.push(Attribute { line, key, value });
        }
        Ok(attributes)
    }

    /// A value and the semicolon after it.
    fn value(&mut self) -> Result<Value, MetadataError> {
        let value = match &self.current {
            Token::Text(_) => match self.advance()? {
                Token::Text(text) => Value::Text(text),
                _ => Value::Other,
            },
            Token::Word(_) => Value::Path(self.path()?),
            Token::Number(_) | Token::Mark(b'-' | b'+') => Value::Number(self.signed_number()?),
            _ => Value::Other,
        };
        if self.take_mark(b';')? {
            return Ok(value);
        }
        self.skip_to_semicolon()?;
        Ok(Value::Other)
    }

    fn skip_to_semicolon(&mut self) -> Result<(), MetadataError> {
        loop {
            match self.current {
                Token::Mark(b';') => {
                    self.advance()?;
                    return Ok(());
                }
                Token::Mark(b'}') | Token::End => return self.unexpected("`;`"),
                _ => self.advance()?,
            };
        }
    }

    pub(super) fn signed_number(&mut self) -> Result<i128, MetadataError> {
        let negative = self.take_mark(b'-')?;
        if !negative {
            self.take_mark(b'+')?;
        }
        match self.current {
            Token::Number(number) => {
                self.advance()?;
                Ok(if negative { -number } else { number })
            }
            _ => self.unexpected("a number"),
        }
    }

    /// `a.b.c`, also with `->` for the dots.
    pub(super) fn path(&mut self) -> Result<Path, MetadataError> {
        let mut path = vec![self.expect_word()?];
        while self.is_mark(b'.') || self.current == Token::Arrow {
            self.advance()?;
            path.push(self.expect_word()?);
        }
        Ok(path)
    }
}
