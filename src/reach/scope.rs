//! Dot, `$` and the variables, as a template sees them.

use std::collections::BTreeSet;

use super::reading::Reading;

#[derive(Debug, Clone)]
pub(super) struct Scope {
    top: Reading,
    /// The dots that `with` and `range` have set, the innermost last.
    dots: Vec<Reading>,
    variables: Vec<(String, Reading)>,
}

impl Scope {
    pub(super) fn of(dot: Reading) -> Self {
        Self { top: dot, dots: Vec::new(), variables: Vec::new() }
    }

    pub(super) fn top(&self) -> &Reading {
        &self.top
    }

    pub(super) fn dot(&self) -> &Reading {
        self.dots.last().unwrap_or(&self.top)
    }

    pub(super) fn enter(&mut self, dot: Reading) {
        self.dots.push(dot);
    }

    pub(super) fn leave(&mut self) {
        self.dots.pop();
    }

    pub(super) fn variable(&self, name: &str) -> Option<&Reading> {
        if name == "$" {
            return Some(&self.top);
        }
        self.variables.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub(super) fn declare(&mut self, name: &str, value: Reading) {
        self.variables.push((name.to_owned(), value));
    }

    /// What was assigned before may still be there.
    pub(super) fn assign(&mut self, name: &str, value: Reading) {
        match self.variables.iter_mut().rev().find(|(known, _)| known == name) {
            Some((_, known)) => {
                known.join(value);
                *known = std::mem::take(known).bounded();
            }
            None => self.declare(name, value),
        }
    }

    pub(super) fn declared(&self) -> usize {
        self.variables.len()
    }

    /// Forgets the variables of a block that ends.
    pub(super) fn forget_from(&mut self, number: usize) {
        self.variables.truncate(number);
    }

    /// Something is written into maps, by whatever name they are known.
    pub(super) fn write(&mut self, maps: &BTreeSet<usize>, effect: &Reading) {
        let variables = self.variables.iter_mut().map(|(_, value)| value);
        for value in variables.chain(&mut self.dots).chain([&mut self.top]) {
            value.write(maps, effect);
            if value.is_large() {
                *value = std::mem::take(value).folded();
            }
        }
    }

    /// The patterns and entries of the variables, whatever they hang on.
    pub(super) fn assigned(&self) -> Vec<Reading> {
        self.variables.iter().map(|(_, value)| value.without_decisions()).collect()
    }
}
