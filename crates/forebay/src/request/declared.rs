//! The arguments of a tool, declared once: for the schema that models get, and for the check of their calls.

use crate::{Error, Result};
use serde_json::{Map, Value};

/// Declaration of a tool.
pub struct Declared {
    /// Its name without a prefix.
    pub name: &'static str,
    /// When to call it.
    pub description: &'static str,
    /// Its arguments.
    pub arguments: &'static [Argument],
}

/// One argument of a tool.
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// Values that it takes.
    pub takes: Takes,
    /// Its meaning, for models.
    pub description: &'static str,
    /// Whether a call must have it.
    pub required: bool,
}

/// Values that an argument takes.
#[derive(Clone, Copy)]
pub enum Takes {
    /// Text of up to this many characters.
    Text(usize),
    /// Text of any length.
    AnyText,
    /// One of these texts.
    Choice(&'static [&'static str]),
    /// A whole number in a range.
    Number {
        /// Least value.
        least: u64,
        /// Greatest value.
        most: u64,
        /// Default value.
        usual: Option<u64>,
    },
    /// True or false; false by default.
    Switch,
}

/// An argument that a call must have.
pub const fn required(name: &'static str, takes: Takes, description: &'static str) -> Argument {
    Argument { name, takes, description, required: true }
}

/// An argument that may be left out.
pub const fn optional(name: &'static str, takes: Takes, description: &'static str) -> Argument {
    Argument { name, takes, description, required: false }
}

/// The arguments of a call, checked against the declaration of its tool.
pub struct Arguments(Map<String, Value>);

impl Arguments {
    /// Checks the arguments of a call and fills in defaults.
    pub fn new(tool: &Declared, given: &Map<String, Value>) -> Result<Arguments> {
        let names = || tool.arguments.iter().map(|argument| argument.name).collect::<Vec<_>>().join(", ");
        let mut checked = Map::new();
        for (name, value) in given {
            let Some(argument) = tool.arguments.iter().find(|argument| argument.name == name) else {
                let name: String = name.chars().take(60).collect();
                return Err(Error::BadQuery(format!(
                    "{} takes no argument {name:?}; it takes {}",
                    tool.name,
                    names()
                )));
            };
            // Models fill in arguments that they do not need: null and an empty text are no argument.
            let nothing = value.is_null() || !argument.required && value.as_str() == Some("");
            if !nothing {
                checked.insert(name.clone(), argument.check(value)?);
            }
        }
        for argument in tool.arguments {
            match argument.takes {
                _ if checked.contains_key(argument.name) => {}
                _ if argument.required => {
                    return Err(Error::BadQuery(format!(
                        "the argument {:?} is missing: {}",
                        argument.name, argument.description
                    )));
                }
                Takes::Number { usual: Some(usual), .. } => {
                    checked.insert(argument.name.to_owned(), usual.into());
                }
                _ => {}
            }
        }
        Ok(Arguments(checked))
    }

    /// A text; empty if the call does not have it.
    pub fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    /// A number, if the call has it or it has a default.
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    /// Whether a switch is on.
    pub fn is_on(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// Whether the call has it.
    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }
}

impl Argument {
    fn check(&self, value: &Value) -> Result<Value> {
        let wrong = |wanted: String| {
            let value: String = value.to_string().chars().take(60).collect();
            Err(Error::BadQuery(format!("{} must be {wanted}, and is {value}", self.name)))
        };
        match (self.takes, value) {
            (Takes::Text(most), Value::String(text)) => match text.chars().count() {
                0 if self.required => wrong("a text that says something".to_owned()),
                length if length > most => wrong(format!("at most {most} characters long")),
                _ => Ok(value.clone()),
            },
            (Takes::AnyText, Value::String(text)) if !text.is_empty() => Ok(value.clone()),
            (Takes::AnyText, _) => wrong("a text that says something".to_owned()),
            (Takes::Choice(texts), Value::String(text)) if texts.contains(&text.as_str()) => {
                Ok(value.clone())
            }
            (Takes::Choice(texts), _) => wrong(format!("one of {}", texts.join(", "))),
            // Models write a line as 7 as often as as "7".
            (Takes::Text(_), Value::Number(number)) => Ok(number.to_string().into()),
            (Takes::Text(_), _) => wrong("a text".to_owned()),
            (Takes::Number { least, most, .. }, _) => {
                let number = match value {
                    Value::String(text) => text.trim().parse().ok(),
                    other => other.as_u64().or_else(|| {
                        other.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64)
                    }),
                };
                match number {
                    Some(number) if (least..=most).contains(&number) => Ok(number.into()),
                    _ => wrong(format!("a whole number from {least} to {most}")),
                }
            }
            (Takes::Switch, Value::Bool(_)) => Ok(value.clone()),
            (Takes::Switch, Value::String(text)) if text == "true" || text == "false" => {
                Ok((text == "true").into())
            }
            (Takes::Switch, _) => wrong("true or false".to_owned()),
        }
    }
}
