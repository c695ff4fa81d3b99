//! Which file of our crates imports which: every path in it, inside functions and macros too, but not in its tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::engines::{files, relative, root};

/// The crates, each by the name that others import it by, the lowest first.
const CRATES: [(&str, &str); 4] = [
    ("helm", "crates/helm/src"),
    ("stable_hooks_policy", "policy/src"),
    ("stable_hooks_host", "crates/host/src"),
    ("stable_hooks", "src"),
];

/// A module: its crate, and its path in it.
type Module = (&'static str, Vec<String>);

/// Files, and what each of them imports.
#[derive(Default)]
pub(crate) struct Imports(pub(crate) BTreeMap<String, BTreeSet<String>>);

impl Imports {
    pub(crate) fn read() -> Self {
        let mut sources = Vec::new();
        for (name, folder) in CRATES {
            for path in files(folder, "rs") {
                let inside = path.strip_prefix(root().join(folder)).unwrap().to_owned();
                sources.push((name, relative(&path), inside, fs::read_to_string(&path).unwrap()));
            }
        }
        let sources =
            sources.iter().map(|(name, path, inside, text)| (*name, path.as_str(), inside.as_path(), text.as_str()));
        Self::of(sources)
    }

    /// Of sources: the crate's name, the file's name, its path inside of the crate, and its text.
    pub(crate) fn of<'s>(sources: impl Iterator<Item = (&'static str, &'s str, &'s Path, &'s str)> + Clone) -> Self {
        let modules: BTreeMap<Module, &str> =
            sources.clone().map(|(name, file, inside, _)| ((name, module(inside)), file)).collect();
        let mut imports = Self::default();
        for (name, file, inside, text) in sources.filter(|(_, _, inside, _)| !is_test(inside)) {
            let mut reader = Reader { modules: &modules, here: (name, module(inside)), found: BTreeSet::new() };
            reader.read(text.parse().unwrap(), &[]);
            reader.found.remove(file);
            imports.0.insert(file.to_owned(), reader.found);
        }
        imports
    }

    /// Files that import each other, all the way round.
    pub(crate) fn circles(&self) -> Vec<Vec<&str>> {
        let reached: BTreeMap<_, _> = self.0.keys().map(|file| (file.as_str(), self.reached_from(file))).collect();
        let mut circles = BTreeSet::new();
        for (file, others) in &reached {
            if others.contains(file) {
                let back = |other: &&&str| reached.get(**other).is_some_and(|back| back.contains(file));
                circles.insert(others.iter().filter(back).copied().collect::<Vec<_>>());
            }
        }
        circles.into_iter().collect()
    }

    fn reached_from<'a>(&'a self, file: &str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::new();
        let mut left: Vec<&str> = self.0.get(file).into_iter().flatten().map(String::as_str).collect();
        while let Some(next) = left.pop() {
            if reached.insert(next) {
                left.extend(self.0.get(next).into_iter().flatten().map(String::as_str));
            }
        }
        reached
    }
}

fn module(inside: &Path) -> Vec<String> {
    let path = inside.with_extension("");
    let parts: Vec<_> = path.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if parts == ["lib"] || parts == ["main"] { Vec::new() } else { parts }
}

fn is_test(inside: &Path) -> bool {
    module(inside).iter().any(|part| part == "tests" || part == "testing")
}

struct Reader<'a> {
    modules: &'a BTreeMap<Module, &'a str>,
    here: Module,
    found: BTreeSet<String>,
}

impl Reader<'_> {
    /// Reads tokens that stand in these modules of the file itself.
    fn read(&mut self, tokens: TokenStream, inner: &[String]) {
        let tokens: Vec<_> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            if let Some((name, body)) = inline_module(&tokens[at..]) {
                if name != "tests" {
                    self.read(body, &[inner, &[name]].concat());
                }
                at += 3;
            } else if is_visibility(&tokens[at..]) {
                at += 2;
            } else if matches!(&tokens[at], TokenTree::Ident(_)) {
                at += self.path(&tokens[at..], &[], inner);
            } else {
                if let TokenTree::Group(group) = &tokens[at] {
                    self.read(group.stream(), inner);
                }
                at += 1;
            }
        }
    }

    /// Reads a path, and gives how many tokens it has.
    fn path(&mut self, tokens: &[TokenTree], before: &[String], inner: &[String]) -> usize {
        let mut path = before.to_vec();
        let mut at = 0;
        loop {
            match tokens.get(at) {
                Some(TokenTree::Ident(ident)) => path.push(ident.to_string()),
                Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace && !path.is_empty() => {
                    let inside: Vec<_> = group.stream().into_iter().collect();
                    let mut next = 0;
                    while next < inside.len() {
                        let is_path = matches!(&inside[next], TokenTree::Ident(_) | TokenTree::Group(_));
                        next += if is_path { self.path(&inside[next..], &path, inner) } else { 1 };
                    }
                    return at + 1;
                }
                _ => break,
            }
            at += 1;
            if !is_colons(tokens.get(at), tokens.get(at + 1)) {
                break;
            }
            at += 2;
        }
        // A name alone is a variable, a macro, a type: only a path leads out of the file.
        if path.len() > 1 {
            self.resolve(&path, inner);
        }
        at.max(1)
    }

    fn resolve(&mut self, path: &[String], inner: &[String]) {
        let (name, own) = (self.here.0, &self.here.1);
        let inside = |skipped: usize, from: &[String]| [from, &path[skipped..]].concat();
        let (of_crate, wanted) = match path[0].as_str() {
            "crate" => (name, inside(1, &[])),
            "self" => (name, inside(1, &[own.as_slice(), inner].concat())),
            "super" => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                let here = [own.as_slice(), inner].concat();
                (name, inside(ups, &here[..here.len().saturating_sub(ups)]))
            }
            first => match CRATES.iter().find(|(other, _)| *other == first && *other != name) {
                Some((other, _)) => (*other, inside(1, &[])),
                // A module below this one.
                None if self.modules.contains_key(&(name, [own.as_slice(), &[first.to_owned()]].concat())) => {
                    (name, inside(0, own))
                }
                None => return,
            },
        };
        let of_module = |length: usize| self.modules.get(&(of_crate, wanted[..length].to_vec()));
        if let Some(file) = (0..=wanted.len()).rev().find_map(of_module) {
            self.found.insert((*file).to_owned());
        }
    }
}

fn is_colons(first: Option<&TokenTree>, second: Option<&TokenTree>) -> bool {
    let is_colon = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(first) && is_colon(second)
}

/// `pub(in path)` says who may import, and imports nothing.
fn is_visibility(tokens: &[TokenTree]) -> bool {
    matches!(tokens, [TokenTree::Ident(word), TokenTree::Group(group), ..]
        if word == "pub" && group.delimiter() == Delimiter::Parenthesis)
}

/// `mod name { .. }`
fn inline_module(tokens: &[TokenTree]) -> Option<(String, TokenStream)> {
    match tokens {
        [TokenTree::Ident(word), TokenTree::Ident(name), TokenTree::Group(body), ..] if word == "mod" => {
            Some((name.to_string(), body.stream()))
        }
        _ => None,
    }
}
