//! The fields `generators`, `transformers` and `validators`: objects that configure builtins, in place or in files.

use firstpass_object::{Origin, Step};

use super::Target;
use super::transformers::Configured;
use crate::Error;
use crate::accumulator::Accumulator;
use crate::file::Located;
use crate::generator;
use crate::objects;
use crate::plugin::{self, Generator, Plugin};
use crate::provenance::{self, Provenance};
use crate::resmap::ResMap;
use crate::resource::{Resource, notes};

impl Target<'_, '_> {
    /// The objects that configure plugins: entries that are objects themselves first, then those that are paths.
    fn plugin_configs(&self, entries: &[Located<String>]) -> Result<ResMap, Error> {
        let mut configs = Accumulator::default();
        let mut paths = Vec::new();
        for entry in entries {
            let Ok(inline) = objects::read(entry, &self.path, self.session) else {
                paths.push(entry.clone());
                continue;
            };
            for mut config in inline {
                if let Some(origin) = &self.origin {
                    let file = provenance::joined(origin, self.path.file_name());
                    config.set_annotation(notes::ORIGIN, &Provenance::of_file(file).to_yaml(""));
                }
                configs
                    .resources
                    .append(config)
                    .map_err(|error| error.at(&self.path, entry.mark))?;
            }
        }
        self.accumulate_resources(&mut configs, &paths)?;
        Ok(configs.resources)
    }

    pub(super) fn plugin_transformers(&self, entries: &[Located<String>]) -> Result<Vec<Configured>, Error> {
        let mut transformers = Vec::new();
        for config in self.plugin_configs(entries)?.iter() {
            match self.load_plugin(config)? {
                Plugin::Generator(_) => {
                    return Err(self.wrong_plugin(config, "transformer"));
                }
                Plugin::Transformers(parts) => {
                    let last = parts.len() - 1;
                    let provenance = Provenance::of_plugin(config);
                    transformers.extend(parts.into_iter().enumerate().map(|(index, transformer)| {
                        Configured {
                            transformer,
                            provenance: provenance.clone().filter(|_| index == last),
                            mark: firstpass_yaml::Mark::NONE,
                        }
                    }));
                }
            }
        }
        Ok(transformers)
    }

    pub(super) fn generate_by_plugins(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        for config in self.plugin_configs(&self.file.generators)?.iter() {
            let Plugin::Generator(generator) = self.load_plugin(config)? else {
                return Err(self.wrong_plugin(config, "generator"));
            };
            let mut resource = match *generator {
                Generator::Object(kind, args) => generator::generate(kind, &args, self.site())?,
                Generator::IamPolicy(policy) => {
                    let origin = Origin {
                        file: config.origin.file.clone(),
                        document: config.origin.document,
                        line: config.origin.line,
                        steps: vec![Step::Generated {
                            by: self.path.as_str().to_owned(),
                        }],
                    };
                    Resource::new(policy.generate()?, origin, &self.session.schemas)
                }
            };
            if let Some(by) = Provenance::of_plugin(config)
                && resource.annotation(notes::ORIGIN).is_none()
            {
                resource.set_annotation(notes::ORIGIN, &by.to_yaml(""));
            }
            gathered
                .resources
                .absorb(resource, self.session.is_incomplete())
                .map_err(|error| error.at(&self.path, firstpass_yaml::Mark::NONE))?;
        }
        Ok(())
    }

    /// Lets the validators look, and makes sure that they only looked.
    pub(super) fn validate(&self, gathered: &mut Accumulator) -> Result<(), Error> {
        for configured in self.plugin_transformers(&self.file.validators)? {
            let before = gathered.resources.clone();
            configured
                .transformer
                .apply(&mut gathered.resources, &self.by())?;
            let is_same = before.len() == gathered.resources.len()
                && before
                    .iter()
                    .zip(gathered.resources.iter())
                    .all(|(before, after)| before.node() == after.node());
            if !is_same {
                return Err(Error::new("validator shouldn't modify the resource map")
                    .at(&self.path, firstpass_yaml::Mark::NONE)
                    .help("list it under `transformers`"));
            }
        }
        Ok(())
    }

    fn load_plugin(&self, config: &Resource) -> Result<Plugin, Error> {
        let file = firstpass_source::RepoPath::clamped(&config.origin.file);
        let mark = firstpass_yaml::Mark {
            line: config.origin.line,
            column: 1,
        };
        plugin::load(config, self.site()).map_err(|error| error.at(&file, mark))
    }

    fn wrong_plugin(&self, config: &Resource, wanted: &str) -> Error {
        Error::new(format!("plugin {} not a {wanted}", config.original_id()))
            .at(&self.path, firstpass_yaml::Mark::NONE)
            .help(format!("list it under another field than `{wanted}s`"))
    }
}
