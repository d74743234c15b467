//! Options as `name=value`; each may be asked for once, and none may be left over.

use crate::Result;
use std::collections::BTreeMap;
use std::str::FromStr;

pub(crate) struct Options(BTreeMap<String, String>);

impl Options {
    pub(crate) fn new(words: &[&str]) -> Result<Self> {
        let pairs = words.iter().filter_map(|w| w.split_once('='));
        let all: BTreeMap<_, _> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        if all.len() < words.len() { Err("an option is there twice".into()) } else { Ok(Self(all)) }
    }

    pub(crate) fn text(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)
    }

    pub(crate) fn get<T: FromStr>(&mut self, name: &str) -> Result<Option<T>> {
        self.text(name).map(|text| text.parse().map_err(|_| format!("{name}={text} cannot be read").into())).transpose()
    }

    /// Refuses what nobody asked for.
    pub(crate) fn finish(self) -> Result {
        match self.0.keys().next() {
            Some(name) => Err(format!("this task has no option `{name}`").into()),
            None => Ok(()),
        }
    }
}
