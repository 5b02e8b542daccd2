//! Joins a script of a page and the modules that it imports into one script, so that a browser fetches one file instead
//! of fifty.
//!
//! The modules are those of `gateway/console/`, and only the forms of imports and exports that these use are understood.
//! A test makes every bundle.

use std::fmt::Write as _;
use thiserror::Error;

/// A module that cannot be joined with others.
#[derive(Debug, Error, PartialEq, Eq)]
pub(super) enum BundleError {
    #[error("there is no module {0}")]
    NotFound(String),
    #[error("{0} imports itself")]
    Circular(String),
    #[error("{module} has an unknown form of import, export or text: {line}")]
    Unsupported { module: String, line: String },
}

/// Returns the script of this module and of all modules that it imports, each once and before those that import it.
/// `read` returns the text of a module.
pub(super) fn bundle(
    entry: &str,
    read: impl Fn(&str) -> Option<String>,
) -> Result<String, BundleError> {
    let mut bundler = Bundler {
        read,
        began: Vec::new(),
        finished: Vec::new(),
        script: String::new(),
    };
    bundler.add(entry)?;
    Ok(bundler.script)
}

struct Bundler<F> {
    read: F,
    /// The modules that were begun, of which some wait for the modules that they import.
    began: Vec<String>,
    finished: Vec<String>,
    script: String,
}

impl<F: Fn(&str) -> Option<String>> Bundler<F> {
    /// Adds a module to the script, after the modules that it imports. The module becomes the body of a function, which
    /// returns the exports, because modules have equal names inside.
    fn add(&mut self, module: &str) -> Result<(), BundleError> {
        if self.finished.iter().any(|finished| finished == module) {
            return Ok(());
        }
        if self.began.iter().any(|began| began == module) {
            return Err(BundleError::Circular(module.to_owned()));
        }
        self.began.push(module.to_owned());
        let text = (self.read)(module).ok_or_else(|| BundleError::NotFound(module.to_owned()))?;
        let mut body = String::new();
        let mut exports = Vec::new();
        for line in text.lines().map(str::trim) {
            let unsupported = || BundleError::Unsupported {
                module: module.to_owned(),
                line: line.to_owned(),
            };
            if is_comment(line) {
                continue;
            }
            if line.starts_with("import") && line.contains("from") {
                let (names, imported) = parse_import(line).ok_or_else(unsupported)?;
                self.add(imported)?;
                let variable = variable(imported);
                let _ = writeln!(body, "const {{{names}}} = {variable};");
            } else if let Some(declaration) = line.strip_prefix("export ") {
                exports.push(
                    declared_name(declaration)
                        .ok_or_else(unsupported)?
                        .to_owned(),
                );
                let _ = writeln!(body, "{declaration}");
            } else if has_open_template(line) {
                // The white space at the beginning of the next line would be part of the text.
                return Err(unsupported());
            } else {
                let _ = writeln!(body, "{line}");
            }
        }
        let variable = variable(module);
        let exports = exports.join(", ");
        let _ = writeln!(
            self.script,
            "const {variable} = (() => {{\n{body}return {{ {exports} }};\n}})();"
        );
        self.finished.push(module.to_owned());
        Ok(())
    }
}

/// Returns whether the line is empty or only a comment.
fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with("//") || (line.starts_with("/*") && line.ends_with("*/"))
}

/// Returns the names and the module of `import { a, b } from "./module.js";`.
fn parse_import(line: &str) -> Option<(&str, &str)> {
    let (names, module) = line
        .strip_prefix("import {")?
        .strip_suffix("\";")?
        .split_once("} from \"./")?;
    let is_plain = !names.contains(" as ");
    is_plain.then_some((names, module))
}

/// Returns the name that an exported declaration declares.
fn declared_name(declaration: &str) -> Option<&str> {
    let declared = declaration.strip_prefix("async ").unwrap_or(declaration);
    let named = ["function ", "const ", "class "]
        .into_iter()
        .find_map(|keyword| declared.strip_prefix(keyword))?;
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let (name, _) = named.split_once(|character| !is_name(character))?;
    (!name.is_empty()).then_some(name)
}

/// Returns whether a template literal begins in the line and does not end there.
fn has_open_template(line: &str) -> bool {
    line.matches('`').count() % 2 == 1
}

/// Returns the variable of the bundle that holds the exports of a module.
fn variable(module: &str) -> String {
    module.replace('.', "_")
}

#[cfg(test)]
mod tests;
