// SPDX-License-Identifier: MIT
//! What a step did, in words. It knows how models/machine keeps caches and stores on their way,
//! so that nobody else has to.

use std::collections::BTreeMap;

use crate::replay::Step;
use crate::words::{value, Words};

/// The machine's own bookkeeping.
const INTERNAL: [&str; 5] = ["dirty", "tso_count", "tso_var", "tso_value", "heavy_wanted"];

/// The values of all variables as far as the replay has told.
pub struct Effects<'a> {
    words: &'a Words,
    values: BTreeMap<String, String>,
    /// The values at the end, which a variable that is never set has from the beginning.
    last: BTreeMap<String, String>,
    many_levels: bool,
}

/// `cached[3]` as (`cached`, 3).
fn element(name: &str) -> Option<(&str, usize)> {
    let (array, rest) = name.split_once('[')?;
    Some((array, usize::try_from(value(rest.strip_suffix(']')?)?).ok()?))
}

/// What one step did.
#[derive(Debug, Default, PartialEq)]
pub struct Said {
    /// What the machine did by itself between instructions; for the steps of processes, nothing.
    pub by_itself: Option<String>,
    pub changes: Vec<String>,
}

fn is_internal(name: &str) -> bool {
    let array = name.split('[').next().unwrap_or(name);
    INTERNAL.contains(&array) || array.ends_with('_')
}

/// A value as a set of bits or an index; 0 where nothing was ever set. The highest bit of a set
/// makes it negative.
fn number(text: Option<&String>) -> usize {
    text.and_then(|text| text.parse::<i32>().ok()).unwrap_or(0) as u32 as usize
}

impl<'a> Effects<'a> {
    pub fn new(words: &'a Words, machine: Option<&str>) -> Effects<'a> {
        let many_levels = machine.is_some_and(|name| name != "sc");
        Effects { words, values: BTreeMap::new(), last: BTreeMap::new(), many_levels }
    }

    pub fn with_last(mut self, last: &[(String, String)]) -> Effects<'a> {
        self.last = last.iter().cloned().collect();
        self
    }

    fn number(&self, name: &str) -> usize {
        number(self.values.get(name))
    }

    fn in_memory(&self, word: usize) -> &str {
        self.values.get(&format!("mem[{word}]")).map_or("0", String::as_str)
    }

    /// The elements of an array whose number has changed: index, number before, number now.
    fn changed<'b>(
        &'b self,
        before: &'b BTreeMap<String, String>,
        array: &'b str,
    ) -> impl Iterator<Item = (usize, usize, usize)> + 'b {
        self.values.iter().filter_map(move |(name, value)| {
            let (of, index) = element(name)?;
            let (earlier, now) = (number(before.get(name)), number(Some(value)));
            (of == array && earlier != now).then_some((index, earlier, now))
        })
    }

    /// The store on its way that is the newest of the CPU whose count has just grown.
    fn on_its_way(&self, before: &BTreeMap<String, String>) -> Option<String> {
        let mut counts = self.changed(before, "tso_count");
        let (cpu, _, count) = counts.find(|(_, earlier, now)| now > earlier)?;
        let slot = cpu * self.words.tso_depth + count - 1;
        let word = self.words.name(self.number(&format!("tso_var[{slot}]")));
        let value = self.values.get(&format!("tso_value[{slot}]")).map_or("0", String::as_str);
        Some(format!("{word}={value}, on its way to memory"))
    }

    fn cached(&self, index: usize, value: &str, set: &[(String, String)]) -> Option<String> {
        let count = self.words.count.max(1);
        let (cpu, word) = (index / count, index % count);
        let is_dirty = (self.number(&format!("dirty[{cpu}]")) >> word) & 1 == 1;
        let name = self.words.name(word);
        let went_through = set.iter().any(|(name, _)| *name == format!("mem[{word}]"));
        if is_dirty {
            Some(format!("{name}={value} in the cache of CPU {cpu}"))
        } else if self.in_memory(word) == value && !went_through {
            Some(format!("CPU {cpu} now sees {name}={value}"))
        } else {
            None
        }
    }

    /// Takes the step's changes over and says them.
    pub fn take(&mut self, step: &Step, by_machine: bool) -> Said {
        let before = self.values.clone();
        self.values.extend(step.set.iter().cloned());
        if by_machine {
            if let Some((headline, is_all)) = self.headline(&before) {
                let changes = if is_all { Vec::new() } else { self.changes(step, &before) };
                return Said { by_itself: Some(headline), changes };
            }
        }
        Said { by_itself: None, changes: self.changes(step, &before) }
    }

    /// What a step assigned that was so already: of a load, a reader wants the value.
    fn assigned(&self, step: &Step) -> Option<String> {
        let [statement] = &step.statements[..] else {
            return None;
        };
        let (name, _) = statement.split_once(" = ")?;
        let ending = format!("({}):{name}", step.process);
        let is_it = |key: &&String| *key == name || key.ends_with(&ending);
        let known = self.values.iter().find(|(key, _)| is_it(key));
        let (_, value) = known.or_else(|| self.last.iter().find(|(key, _)| is_it(key)))?;
        (!is_internal(name)).then(|| format!("{name}={value}"))
    }

    fn changes(&self, step: &Step, before: &BTreeMap<String, String>) -> Vec<String> {
        let mut said = Vec::new();
        let mut seen: Vec<&str> = Vec::new();
        for (name, _) in step.set.iter().rev() {
            let value = self.values.get(name).map_or("", String::as_str);
            let unchanged = before.get(name).map_or("0", String::as_str) == value;
            if seen.contains(&name.as_str()) || unchanged {
                continue;
            }
            seen.push(name);
            said.extend(self.change(name, value, &step.set));
        }
        said.reverse();
        said.extend(self.on_its_way(before));
        if said.is_empty() {
            said.extend(self.assigned(step));
        }
        said
    }

    fn change(&self, name: &str, value: &str, set: &[(String, String)]) -> Option<String> {
        let plain = name.split_once("):").map_or(name, |(_, local)| local);
        if is_internal(plain) {
            return None;
        }
        match element(name) {
            Some(("mem", index)) => {
                let place = if self.many_levels { " in memory" } else { "" };
                Some(format!("{}={value}{place}", self.words.name(index)))
            }
            Some(("cached", index)) => self.cached(index, value, set),
            _ => Some(format!("{plain}={value}")),
        }
    }

    /// What the machine did by itself, and whether that is all there is to say.
    fn headline(&self, before: &BTreeMap<String, String>) -> Option<(String, bool)> {
        if let Some((from, earlier, now)) = self.changed(before, "heavy_wanted").next() {
            let to = (earlier & !now).trailing_zeros();
            return Some((format!("CPU {to}: barrier for CPU {from}"), false));
        }
        let landed = |cpu: usize, word: usize| {
            let (name, value) = (self.words.name(word), self.in_memory(word));
            Some((format!("CPU {cpu}: {name}={value} lands"), true))
        };
        if let Some((cpu, earlier, now)) = self.changed(before, "dirty").next() {
            return landed(cpu, (earlier & !now).trailing_zeros() as usize);
        }
        if let Some((cpu, _, _)) = self.changed(before, "tso_count").next() {
            let oldest = format!("tso_var[{}]", cpu * self.words.tso_depth);
            return landed(cpu, number(before.get(&oldest)));
        }
        let (slot, _, _) = self.changed(before, "cached").next()?;
        let (cpu, word) = (slot / self.words.count.max(1), slot % self.words.count.max(1));
        let (name, value) = (self.words.name(word), self.values.get(&format!("cached[{slot}]"))?);
        Some((format!("CPU {cpu}: fetches {name}={value}"), true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(set: &[(&str, &str)]) -> Step {
        let set = set.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Step { set, ..Step::default() }
    }

    fn words() -> Words {
        Words::numbered(2, 3)
    }

    #[test]
    fn a_store_is_in_its_cpus_cache_until_it_lands() {
        let words = words();
        let mut effects = Effects::new(&words, Some("alpha"));
        let store = step(&[("cached[0]", "0"), ("cached[1]", "7"), ("dirty[0]", "2")]);
        assert_eq!(effects.take(&store, false).changes, ["word 1=7 in the cache of CPU 0"]);
        let land = step(&[("mem[1]", "7"), ("dirty[0]", "0")]);
        assert_eq!(effects.take(&land, true).by_itself.as_deref(), Some("CPU 0: word 1=7 lands"));
        let fetch = step(&[("cached[3]", "7")]);
        let said = effects.take(&fetch, true);
        assert_eq!(said.by_itself.as_deref(), Some("CPU 1: fetches word 1=7"));
        assert!(said.changes.is_empty());
    }

    #[test]
    fn a_store_on_its_way_is_told_and_so_is_its_landing() {
        let words = words();
        let mut effects = Effects::new(&words, Some("tso"));
        let store = step(&[("tso_value[3]", "5"), ("tso_var[3]", "1"), ("tso_count[1]", "1")]);
        assert_eq!(effects.take(&store, false).changes, ["word 1=5, on its way to memory"]);
        let land = step(&[("mem[1]", "5"), ("tso_var[3]", "0"), ("tso_count[1]", "0")]);
        assert_eq!(effects.take(&land, true).by_itself.as_deref(), Some("CPU 1: word 1=5 lands"));
    }

    #[test]
    fn a_barrier_of_another_cpu_is_told_with_what_it_does() {
        let words = words();
        let mut effects = Effects::new(&words, Some("power"));
        effects.take(&step(&[("heavy_wanted[0]", "2"), ("dirty[1]", "1")]), false);
        let said = effects
            .take(&step(&[("heavy_wanted[0]", "0"), ("mem[0]", "3"), ("dirty[1]", "0")]), true);
        assert_eq!(said.by_itself.as_deref(), Some("CPU 1: barrier for CPU 0"));
        assert_eq!(said.changes, ["word 0=3 in memory"]);
    }

    #[test]
    fn a_load_that_changes_nothing_is_told_with_its_value() {
        let words = words();
        let last = [("y".to_string(), "4".to_string())];
        let mut effects = Effects::new(&words, None).with_last(&last);
        let load = Step { statements: vec!["y = mem[0]".to_string()], ..Step::default() };
        assert_eq!(effects.take(&load, false).changes, ["y=4"]);
    }

    #[test]
    fn variables_are_told_and_the_machines_scratch_is_not() {
        let words = words();
        let mut effects = Effects::new(&words, None);
        let said =
            effects.take(&step(&[("each_", "1"), ("reader(1):seq", "2"), ("x", "3")]), false);
        assert_eq!(said.changes, ["seq=2", "x=3"]);
    }
}
