//! A scenario file: a small repository and a script of steps.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use firstpass_yaml::{NodeKind, parse_all, parse_one};
use serde_json::{Value, json};

use crate::compare::Waits;

/// A scenario. `oracle/README.md` describes the format.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// What it is about, in a sentence.
    pub shows: String,
    /// The facts that it touches, such as `F-212`.
    pub rules: Vec<String>,
    /// The minor version of Flux.
    pub flux: String,
    /// Whether source-controller and helm-controller run, and charts are served instead of a repository.
    pub helm: bool,
    /// How long pods take to become ready; never, if nothing is said.
    pub workloads: Option<Duration>,
    /// Delays of the knowledge, by name.
    pub delays: BTreeMap<String, Duration>,
    /// Built-in knowledge files whose operators act.
    pub operators: Vec<String>,
    /// Further arguments of kustomize-controller.
    pub arguments: Vec<String>,
    /// Whether waits for a dependency that end are compared.
    pub waits: Waits,
    /// Objects that exist before Flux starts.
    pub stage: Vec<Value>,
    /// Objects that are applied when Flux runs.
    pub seeds: Vec<Value>,
    /// Files by path, revision by revision.
    pub revisions: Vec<BTreeMap<String, String>>,
    /// The versions of the charts that the chart repository has, by name.
    pub charts: BTreeMap<String, Vec<String>>,
    /// Knowledge of its own.
    pub knowledge: String,
    /// The script.
    pub steps: Vec<Step>,
}

/// A step of the script.
#[derive(Clone, Debug)]
pub struct Step {
    /// The line.
    pub text: String,
    /// Its words.
    pub words: Vec<String>,
    /// The mapping at its end, if any.
    pub body: Value,
}

/// Why a file is no scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioError(String);

impl fmt::Display for ScenarioError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

impl std::error::Error for ScenarioError {}

impl ScenarioError {
    pub(crate) fn new(message: impl fmt::Display) -> ScenarioError {
        ScenarioError(message.to_string())
    }
}

fn error(message: impl fmt::Display) -> ScenarioError {
    ScenarioError::new(message)
}

impl Scenario {
    /// Reads a file.
    ///
    /// # Errors
    /// If a section or a step is unknown, or YAML cannot be read.
    pub fn parse(text: &str) -> Result<Scenario, ScenarioError> {
        let (head, sections) = split(text);
        let mut scenario = Scenario::header(&head)?;
        for (title, text) in sections {
            scenario.take(&title, &text)?;
        }
        Ok(scenario)
    }

    fn header(text: &str) -> Result<Scenario, ScenarioError> {
        let head = yaml(text)?;
        let texts = |key: &str| -> Vec<String> {
            let items = head[key].as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let flux = match &head["flux"] {
            Value::Null => "2.9".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let delays = head["delays"].as_object().into_iter().flatten();
        let delays = delays
            .map(|(name, value)| Ok((name.clone(), duration(value.as_str().unwrap_or_default())?)))
            .collect::<Result<_, ScenarioError>>()?;
        Ok(Scenario {
            shows: head["shows"].as_str().unwrap_or_default().to_owned(),
            rules: texts("rules"),
            flux,
            helm: head["helm"] == true,
            workloads: head["workloads"].as_str().map(duration).transpose()?,
            delays,
            operators: texts("operators"),
            arguments: texts("arguments"),
            waits: if head["waits_vary"] == true {
                Waits::Dropped
            } else {
                Waits::Compared
            },
            stage: Vec::new(),
            seeds: Vec::new(),
            revisions: Vec::new(),
            charts: BTreeMap::new(),
            knowledge: String::new(),
            steps: Vec::new(),
        })
    }

    fn take(&mut self, title: &str, text: &str) -> Result<(), ScenarioError> {
        match title.split(' ').next().unwrap_or_default() {
            "stage" => self.stage.extend(documents(text)?),
            "seeds" => self.seeds.extend(documents(text)?),
            "tiers" => self.seeds.extend(tiers(text)?),
            "charts" => self.take_charts(text)?,
            "knowledge" => self.knowledge.push_str(text),
            "revision" => self.take_revision(text)?,
            "steps" => self.take_steps(text)?,
            _ => return Err(error(format!("no section is called `{title}`"))),
        }
        Ok(())
    }

    /// Reads which charts there are. What they hold is told to the simulator by knowledge.
    fn take_charts(&mut self, text: &str) -> Result<(), ScenarioError> {
        let files = files_over(BTreeMap::new(), text)?;
        for (path, text) in files.iter().filter(|(path, _)| path.ends_with("/Chart.yaml")) {
            let about = yaml(text)?;
            let field = |key: &str| {
                let value = about[key].as_str();
                value
                    .ok_or_else(|| error(format!("{path} has no `{key}`")))
                    .map(str::to_owned)
            };
            self.charts
                .entry(field("name")?)
                .or_default()
                .push(field("version")?);
        }
        Ok(())
    }

    /// Lays files over those of the revision before.
    fn take_revision(&mut self, text: &str) -> Result<(), ScenarioError> {
        let before = self.revisions.last().cloned().unwrap_or_default();
        self.revisions.push(files_over(before, text)?);
        Ok(())
    }

    fn take_steps(&mut self, text: &str) -> Result<(), ScenarioError> {
        for line in text.lines().map(str::trim) {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (words, body) = match line.find('{') {
                Some(at) => (&line[..at], yaml(&line[at..])?),
                None => (line, Value::Null),
            };
            self.steps.push(Step {
                text: line.to_owned(),
                words: words.split_whitespace().map(str::to_owned).collect(),
                body,
            });
        }
        Ok(())
    }

    /// How long a named delay of the knowledge takes; a second unless the scenario says otherwise.
    pub fn delay(&self, name: &str) -> Duration {
        self.delays.get(name).copied().unwrap_or(Duration::from_secs(1))
    }
}

/// Reads a duration such as `30s`, `1m` or `500ms`.
///
/// # Errors
/// If it is none.
pub(crate) fn duration(text: &str) -> Result<Duration, ScenarioError> {
    let parse = |number: &str| number.parse::<u64>().ok();
    let found = if let Some(number) = text.strip_suffix("ms") {
        parse(number).map(Duration::from_millis)
    } else if let Some(number) = text.strip_suffix('s') {
        parse(number).map(Duration::from_secs)
    } else if let Some(number) = text.strip_suffix('m') {
        parse(number).map(|minutes| Duration::from_secs(60 * minutes))
    } else if let Some(number) = text.strip_suffix('h') {
        parse(number).map(|hours| Duration::from_secs(3600 * hours))
    } else {
        None
    };
    found.ok_or_else(|| error(format!("`{text}` is no duration")))
}

/// Lays files, each after a line `--- path`, over others; one titled `path [removed]` is gone.
fn files_over(
    mut files: BTreeMap<String, String>,
    text: &str,
) -> Result<BTreeMap<String, String>, ScenarioError> {
    let mut path = None;
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("--- ") {
            let title = title.trim();
            if let Some(gone) = title.strip_suffix(" [removed]") {
                files.remove(gone);
                path = None;
            } else {
                files.insert(title.to_owned(), String::new());
                path = Some(title.to_owned());
            }
            continue;
        }
        match path.as_ref().and_then(|path| files.get_mut(path)) {
            Some(content) => {
                content.push_str(line);
                content.push('\n');
            }
            None if line.trim().is_empty() => {}
            None => return Err(error(format!("text before the first file: {line}"))),
        }
    }
    Ok(files)
}

/// Cuts a file at lines that begin with `=== `.
pub(crate) fn split(text: &str) -> (String, Vec<(String, String)>) {
    let mut head = String::new();
    let mut sections: Vec<(String, String)> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("=== ") {
            sections.push((title.trim().to_owned(), String::new()));
            continue;
        }
        let into = sections.last_mut().map_or(&mut head, |(_, text)| text);
        into.push_str(line);
        into.push('\n');
    }
    (head, sections)
}

pub(crate) fn yaml(text: &str) -> Result<Value, ScenarioError> {
    if text
        .lines()
        .all(|line| line.trim().is_empty() || line.starts_with('#'))
    {
        return Ok(Value::Null);
    }
    parse_one(text)
        .and_then(|node| node.to_config())
        .map_err(|failure| error(format!("{failure}")))
}

pub(crate) fn documents(text: &str) -> Result<Vec<Value>, ScenarioError> {
    let documents = parse_all(text).map_err(|failure| error(format!("{failure}")))?;
    let values = documents
        .iter()
        .map(|document| {
            document
                .root
                .to_config()
                .map_err(|failure| error(format!("{failure}")))
        })
        .collect::<Result<Vec<Value>, _>>()?;
    Ok(values.into_iter().filter(|value| !value.is_null()).collect())
}

/// Flux Kustomizations of `name: {field of spec: value}` lines, in the order of the lines.
fn tiers(text: &str) -> Result<Vec<Value>, ScenarioError> {
    let node = parse_one(text).map_err(|failure| error(format!("{failure}")))?;
    let NodeKind::Map(map) = &node.kind else {
        return Err(error("tiers are a mapping of names"));
    };
    let specs = node.to_config().map_err(|failure| error(format!("{failure}")))?;
    let mut made = Vec::new();
    for (key, _) in map.iter() {
        let name = key.as_str().unwrap_or_default();
        let mut spec = json!({
            "interval": "1h", "retryInterval": "5s", "timeout": "30s", "prune": true, "path": name,
            "sourceRef": {"kind": "GitRepository", "name": "flux-system"},
        });
        for (field, value) in specs[name].as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        made.push(json!({
            "apiVersion": "kustomize.toolkit.fluxcd.io/v1",
            "kind": "Kustomization",
            "metadata": {"name": name, "namespace": "flux-system"},
            "spec": spec,
        }));
    }
    Ok(made)
}
