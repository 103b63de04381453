//! What must hold for any bytes at all.
//!
//! The targets run under libFuzzer and, with a plain mutator, as tests on a stable compiler.

mod rehearse;

use arbitrary::{Arbitrary, Result, Unstructured};
use firstpass_kustomize::file::KustomizationFile;
use firstpass_kustomize::{Options, build};
use firstpass_source::{MemoryTree, RepoPath, Tree};
use firstpass_yaml::{Node, emit, parse_all, parse_one};
use serde_json::{Map, Value};

pub use rehearse::rehearse;

/// Reading never panics, and what could be read and written is read back as the same.
pub fn yaml_parse(data: &[u8]) {
    let Ok(text) = firstpass_yaml::decode(data) else {
        return;
    };
    let Ok(documents) = parse_all(&text) else {
        return;
    };
    for document in documents {
        let Ok(value) = document.root.to_json() else {
            continue;
        };
        assert_eq!(
            Node::from_json(&value).to_json().as_ref(),
            Ok(&value),
            "through a tree"
        );
        same_when_read_back(&value);
    }
}

/// Writing never panics, and what was written is read back as the same.
pub fn yaml_emit(data: &[u8]) {
    let mut bytes = Unstructured::new(data);
    if let Ok(value) = value(&mut bytes, 5) {
        same_when_read_back(&value);
    }
}

/// Building never panics, gives the same twice, and what reads strictly reads leniently.
///
/// The bytes are files: a line `--- path` starts one. What is built is the root.
pub fn kustomize_build(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let tree = files(text);
    let file = RepoPath::clamped("kustomization.yaml");
    for options in [Options::command_line(), Options::flux()] {
        let once = build(&tree, &RepoPath::root(), &options).map(|built| built.to_yaml());
        let twice = build(&tree, &RepoPath::root(), &options).map(|built| built.to_yaml());
        assert_eq!(once, twice);
    }
    if let Ok(bytes) = tree.read(&file)
        && let Ok(text) = firstpass_yaml::decode(&bytes)
        && KustomizationFile::read(&text, &file).is_ok()
    {
        let read = KustomizationFile::read_leniently(&text, &file);
        if let Ok(root) = read {
            let _ = build(&tree, &RepoPath::root(), &Options::flux_with_root(root));
        } else {
            panic!("{:?}", read.err());
        }
    }
}

fn files(text: &str) -> MemoryTree {
    let mut tree = MemoryTree::new();
    for section in text.split("\n--- ") {
        let section = section.strip_prefix("--- ").unwrap_or(section);
        let (path, content) = section.split_once('\n').unwrap_or((section, ""));
        tree.insert(path.trim(), content);
    }
    tree
}

fn same_when_read_back(value: &Value) {
    let written = emit(value);
    if !is_faithful(value) {
        return;
    }
    match parse_one(&written).and_then(|node| node.to_json()) {
        Ok(read) => assert_eq!(&read, value, "{written}"),
        Err(error) => panic!("{error}\n{written}"),
    }
}

/// Whether kustomize could read its own output: it does not quote a merge key, and takes YAML 1.1's line breaks in a
/// text for real ones.
fn is_faithful(value: &Value) -> bool {
    let text = |text: &str| !text.contains(['\u{85}', '\u{2028}', '\u{2029}']);
    match value {
        Value::String(content) => text(content),
        Value::Array(items) => items.iter().all(is_faithful),
        Value::Object(fields) => fields
            .iter()
            .all(|(key, value)| key != "<<" && text(key) && is_faithful(value)),
        Value::Number(number) => {
            !number.is_f64()
                || number
                    .as_f64()
                    .is_some_and(|n| n.fract() != 0.0 || n.abs() >= 1e21)
        }
        Value::Null | Value::Bool(_) => true,
    }
}

fn value(bytes: &mut Unstructured<'_>, depth: u8) -> Result<Value> {
    Ok(match bytes.int_in_range(0..=if depth == 0 { 4 } else { 6 })? {
        0 => Value::Null,
        1 => Value::Bool(bytes.arbitrary()?),
        2 => Value::from(i64::arbitrary(bytes)?),
        3 => serde_json::Number::from_f64(bytes.arbitrary()?).map_or(Value::Null, Value::Number),
        4 => Value::String(bytes.arbitrary()?),
        5 => {
            let mut items = Vec::new();
            while items.len() < 8 && bytes.arbitrary()? {
                items.push(value(bytes, depth - 1)?);
            }
            Value::Array(items)
        }
        _ => {
            let mut fields = Map::new();
            while fields.len() < 8 && bytes.arbitrary()? {
                fields.insert(bytes.arbitrary()?, value(bytes, depth - 1)?);
            }
            Value::Object(fields)
        }
    })
}

#[cfg(test)]
#[allow(
    clippy::disallowed_methods,
    reason = "seeds are files, the number of rounds is told by the caller"
)]
mod tests {
    use std::path::Path;

    /// A small generator of numbers (xorshift), so that a run can be repeated.
    struct Dice(u64);

    impl Dice {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            (self.0 % limit.max(1) as u64) as usize
        }
    }

    /// Runs a target over its seeds and mutations of them. `cost` tells how many of the usual rounds one of it takes.
    fn run(name: &str, target: fn(&[u8]), cost: u64) {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut seeds: Vec<_> = std::fs::read_dir(root.join("seeds").join(name))
            .expect("the seeds are part of the repository")
            .map(|entry| entry.expect("a seed").path())
            .collect();
        seeds.sort();
        let seeds: Vec<Vec<u8>> = seeds
            .iter()
            .map(|path| std::fs::read(path).expect("a seed"))
            .collect();
        let words = dictionary(&std::fs::read_to_string(root.join("yaml.dict")).expect("the dictionary"));
        seeds.iter().for_each(|seed| target(seed));

        let rounds: u64 = std::env::var("FUZZ_ROUNDS").map_or(20_000, |n| n.parse().expect("a number"));
        let mut dice = Dice(0x5EED);
        for _ in 0..rounds / cost {
            let mut input = seeds[dice.below(seeds.len())].clone();
            for _ in 0..=dice.below(6) {
                mutate(&mut input, &words, &seeds, &mut dice);
            }
            target(&input);
        }
    }

    fn mutate(input: &mut Vec<u8>, words: &[Vec<u8>], seeds: &[Vec<u8>], dice: &mut Dice) {
        let at = dice.below(input.len() + 1);
        match dice.below(6) {
            0 | 1 => drop(input.splice(at..at, words[dice.below(words.len())].iter().copied())),
            2 => drop(input.drain(at..(at + 1 + dice.below(8)).min(input.len()).max(at))),
            3 => input.insert(at, dice.below(256) as u8),
            4 => {
                let other = &seeds[dice.below(seeds.len())];
                let from = dice.below(other.len() + 1);
                let piece = &other[from..(from + dice.below(64)).min(other.len())];
                drop(input.splice(at..at, piece.iter().copied()));
            }
            _ => {
                if let Some(byte) = input.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
        }
    }

    /// The quoted words of a libFuzzer dictionary; `\xNN` is the only escape that it needs beyond `\"` and `\\`.
    fn dictionary(text: &str) -> Vec<Vec<u8>> {
        let words = text
            .lines()
            .filter_map(|line| line.strip_prefix('"')?.strip_suffix('"'));
        words
            .map(|word| {
                let mut bytes = Vec::new();
                let mut rest = word;
                while let Some(c) = rest.chars().next() {
                    let (byte, length) = match rest.as_bytes() {
                        [b'\\', b'x', ..] => (u8::from_str_radix(&rest[2..4], 16).expect("two digits"), 4),
                        [b'\\', escaped, ..] => (*escaped, 2),
                        [byte, ..] => (*byte, c.len_utf8()),
                        [] => break,
                    };
                    bytes.push(byte);
                    rest = &rest[length..];
                }
                bytes
            })
            .collect()
    }

    #[test]
    fn yaml_parse() {
        run("yaml_parse", super::yaml_parse, 1);
    }

    #[test]
    fn yaml_emit() {
        run("yaml_emit", super::yaml_emit, 1);
    }

    #[test]
    fn kustomize_build() {
        run("kustomize_build", super::kustomize_build, 1);
    }

    #[test]
    fn rehearse() {
        run("rehearse", super::rehearse, 40);
    }
}
