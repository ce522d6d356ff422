// SPDX-License-Identifier: MIT
//! The half of the TSDL parser that reads types and declarators.
//!
//! Place in the flow: called by `parser` for everything that is not a block or an attribute.

use super::ast::{Declarator, Dimension, Enumerator, Item, TypeExpression, TypeKind};
use super::lexer::Token;
use super::parser::{Parser, MAX_NESTING};
use crate::error::MetadataError;

const C_TYPE_WORDS: [&str; 11] = [
    "void", "char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool",
    "_Complex",
];

impl Parser<'_> {
    pub(super) fn declaration(&mut self, depth: u32) -> Result<Item, MetadataError> {
        let ty = self.type_expression(depth + 1)?;
        let declarators = self.declarators()?;
        self.expect_mark(b';')?;
        Ok(Item::Declaration { ty, declarators })
    }

    pub(super) fn typedef(&mut self, depth: u32) -> Result<Item, MetadataError> {
        self.advance()?;
        let ty = self.type_expression(depth + 1)?;
        let declarators = self.declarators()?;
        self.expect_mark(b';')?;
        Ok(Item::Typedef { ty, declarators })
    }

    /// `typealias target := alias;`
    pub(super) fn typealias(&mut self, depth: u32) -> Result<Item, MetadataError> {
        self.advance()?;
        let ty = self.type_expression(depth + 1)?;
        let target = self.declarator()?;
        if *self.current() != Token::Becomes {
            return self.unexpected("`:=`");
        }
        self.advance()?;
        let alias = self.type_expression(depth + 1)?;
        let stars = self.stars()?;
        self.expect_mark(b';')?;
        Ok(Item::Typealias { ty, target, alias, stars })
    }

    pub(super) fn type_expression(&mut self, depth: u32) -> Result<TypeExpression, MetadataError> {
        if depth > MAX_NESTING {
            return self.error("types are nested too deeply");
        }
        self.skip_const()?;
        let line = self.line;
        let Token::Word(word) = self.current() else { return self.unexpected("a type") };
        let kind = match word.as_str() {
            "struct" => self.structure(depth)?,
            "variant" => self.variant(depth)?,
            "enum" => self.enumeration(depth)?,
            "integer" => TypeKind::Integer(self.braced_attributes()?),
            "floating_point" => TypeKind::Float(self.braced_attributes()?),
            "string" => {
                self.advance()?;
                let braced = self.take_mark(b'{')?;
                TypeKind::Text(if braced { self.attributes()? } else { Vec::new() })
            }
            _ => self.named()?,
        };
        self.skip_const()?;
        Ok(TypeExpression { line, kind })
    }

    fn skip_const(&mut self) -> Result<(), MetadataError> {
        while self.is_word("const") {
            self.advance()?;
        }
        Ok(())
    }

    fn braced_attributes(&mut self) -> Result<Vec<super::ast::Attribute>, MetadataError> {
        self.advance()?;
        self.expect_mark(b'{')?;
        self.attributes()
    }

    /// `uint32_t`, or the words of a C type such as `unsigned long`.
    fn named(&mut self) -> Result<TypeKind, MetadataError> {
        let mut name = self.expect_word()?;
        if C_TYPE_WORDS.contains(&name.as_str()) {
            while let Token::Word(word) = self.current() {
                if word != "const" && !C_TYPE_WORDS.contains(&word.as_str()) {
                    break;
                }
                let word = self.expect_word()?;
                if word != "const" {
                    name.push(' ');
                    name.push_str(&word);
                }
            }
        }
        Ok(TypeKind::Named(name))
    }

    fn optional_name(&mut self) -> Result<Option<String>, MetadataError> {
        match self.current() {
            Token::Word(word) if word != "align" => self.expect_word().map(Some),
            _ => Ok(None),
        }
    }

    fn structure(&mut self, depth: u32) -> Result<TypeKind, MetadataError> {
        self.advance()?;
        let name = self.optional_name()?;
        let mut body = None;
        if self.take_mark(b'{')? {
            body = Some(self.items_until_brace(depth + 1)?);
        }
        let mut align = None;
        if self.is_word("align") {
            self.advance()?;
            self.expect_mark(b'(')?;
            let bits = self.signed_number()?;
            match u64::try_from(bits) {
                Ok(bits) => align = Some(bits),
                Err(_) => return self.error("an alignment cannot be negative"),
            }
            self.expect_mark(b')')?;
        }
        if name.is_none() && body.is_none() {
            return self.unexpected("`{` or the name of a struct");
        }
        Ok(TypeKind::Struct { name, body, align })
    }

    fn variant(&mut self, depth: u32) -> Result<TypeKind, MetadataError> {
        self.advance()?;
        let name = self.optional_name()?;
        let mut tag = None;
        if self.take_mark(b'<')? {
            tag = Some(self.path()?);
            self.expect_mark(b'>')?;
        }
        let mut body = None;
        if self.take_mark(b'{')? {
            body = Some(self.items_until_brace(depth + 1)?);
        }
        if name.is_none() && body.is_none() {
            return self.unexpected("`{` or the name of a variant");
        }
        Ok(TypeKind::Variant { name, tag, body })
    }

    fn enumeration(&mut self, depth: u32) -> Result<TypeKind, MetadataError> {
        self.advance()?;
        let name = self.optional_name()?;
        let mut container = None;
        if self.take_mark(b':')? {
            container = Some(Box::new(self.type_expression(depth + 1)?));
        }
        let mut body = None;
        if self.take_mark(b'{')? {
            body = Some(self.enumerators()?);
        }
        if name.is_none() && body.is_none() {
            return self.unexpected("`{` or the name of an enum");
        }
        Ok(TypeKind::Enumeration { name, container, body })
    }

    fn enumerators(&mut self) -> Result<Vec<Enumerator>, MetadataError> {
        let mut enumerators = Vec::new();
        while !self.take_mark(b'}')? {
            let label = match self.current() {
                Token::Text(_) | Token::Word(_) => match self.advance()? {
                    Token::Text(label) | Token::Word(label) => label,
                    _ => String::new(),
                },
                _ => return self.unexpected("an enumerator"),
            };
            let mut range = None;
            if self.take_mark(b'=')? {
                let begin = self.signed_number()?;
                let mut until = begin;
                if *self.current() == Token::Ellipsis {
                    self.advance()?;
                    until = self.signed_number()?;
                }
                range = Some((begin, until));
            }
            enumerators.push(Enumerator { label, range });
            if !self.is_mark(b'}') {
                self.expect_mark(b',')?;
            }
        }
        Ok(enumerators)
    }

    fn declarators(&mut self) -> Result<Vec<Declarator>, MetadataError> {
        let mut declarators = Vec::new();
        if self.is_mark(b';') {
            return Ok(declarators);
        }
        loop {
            declarators.push(self.declarator()?);
            if !self.take_mark(b',')? {
                return Ok(declarators);
            }
        }
    }

    fn stars(&mut self) -> Result<u32, MetadataError> {
        let mut stars = 0;
        while self.take_mark(b'*')? {
            stars += 1;
            if stars > MAX_NESTING {
                return self.error("too many `*`");
            }
            self.skip_const()?;
        }
        Ok(stars)
    }

    fn declarator(&mut self) -> Result<Declarator, MetadataError> {
        let line = self.line;
        let pointers = self.stars()?;
        let name = match self.current() {
            Token::Word(_) => Some(self.expect_word()?),
            _ => None,
        };
        let mut dimensions = Vec::new();
        while self.take_mark(b'[')? {
            if dimensions.len() >= MAX_NESTING as usize {
                return self.error("too many array dimensions");
            }
            dimensions.push(match *self.current() {
                Token::Number(count) => {
                    self.advance()?;
                    Dimension::Count(u64::try_from(count).unwrap_or(u64::MAX))
                }
                _ => Dimension::Path(self.path()?),
            });
            self.expect_mark(b']')?;
        }
        Ok(Declarator { line, pointers, name, dimensions })
    }
}
