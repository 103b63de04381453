//! Generators and transformers that are configured by objects: the fields `generators`, `transformers` and `validators`.
//!
//! Only those built into kustomize are there; Flux refuses all others (F-813).

use firstpass_yaml::Node;

use crate::Error;
use crate::config::FieldSpecs;
use crate::file::read::{Fields, Mismatch, Read, Rules};
use crate::file::{
    FieldSpec, GeneratorArgs, Image, Located, Metadata, Patch, PatchOptions, ReplacementField, Replica,
    Selector, config_map_args, secret_args,
};
use crate::generator::{IamPolicy, Kind};
use crate::resource::Resource;
use crate::session::Site;
use crate::transformer::{
    Affix, Annotations, Hash, ImageTag, Labels, NameAffix, Namespace, PatchEntry, PatchJson6902,
    PatchStrategicMerge, Replacements, ReplicaCount, Subjects, Transform, ValueAdd,
};

/// A builtin that an object configures.
pub(crate) enum Plugin {
    Generator(Box<Generator>),
    /// One transformer, or the two of `PrefixSuffixTransformer`.
    Transformers(Vec<Box<dyn Transform>>),
}

/// A builtin generator.
pub(crate) enum Generator {
    Object(Kind, Located<GeneratorArgs>),
    IamPolicy(IamPolicy),
}

/// Loads the builtin that an object configures.
pub(crate) fn load(config: &Resource, site: Site<'_, '_>) -> Result<Plugin, Error> {
    let gvk = config.gvk();
    if !(gvk.group.is_empty() && gvk.version == "builtin") {
        return Err(Error::new(format!(
            "external plugins disabled; unable to load external plugin '{}'",
            gvk.kind
        ))
        .help("only plugins with `apiVersion: builtin` are run, here as in Flux"));
    }
    configure(config, site).map_err(|mut error| {
        error.what = format!(
            "plugin {} fails configuration: {}",
            config.original_id(),
            error.what
        );
        error
    })
}

fn configure(config: &Resource, site: Site<'_, '_>) -> Result<Plugin, Error> {
    let node = settled(config)?;
    let reader = Reader {
        node: &node,
        config,
        site,
    };
    let one = |transformer: Box<dyn Transform>| Ok(Plugin::Transformers(vec![transformer]));
    match config.kind() {
        "ConfigMapGenerator" => reader.generator(Kind::ConfigMap),
        "SecretGenerator" => reader.generator(Kind::Secret),
        "IAMPolicyGenerator" => reader
            .parsed()
            .map(|policy| Plugin::Generator(Box::new(Generator::IamPolicy(policy)))),
        "HelmChartInflationGenerator" => Err(helm_is_off()),
        "AnnotationsTransformer" => one(Box::new(reader.annotations()?)),
        "HashTransformer" => one(Box::new(Hash)),
        "ImageTagTransformer" => one(Box::new(reader.image_tag()?)),
        "LabelTransformer" => one(Box::new(reader.labels()?)),
        "NamespaceTransformer" => one(Box::new(reader.namespace()?)),
        "PatchJson6902Transformer" => one(Box::new(reader.patch_json6902()?)),
        "PatchStrategicMergeTransformer" => one(Box::new(reader.patch_strategic_merge()?)),
        "PatchTransformer" => one(Box::new(reader.patch()?)),
        "PrefixTransformer" => one(Box::new(reader.affix(Affix::Prefix)?)),
        "SuffixTransformer" => one(Box::new(reader.affix(Affix::Suffix)?)),
        "PrefixSuffixTransformer" => Ok(Plugin::Transformers(vec![
            Box::new(reader.affix(Affix::Prefix)?),
            Box::new(reader.affix(Affix::Suffix)?),
        ])),
        "ReplacementTransformer" => one(Box::new(reader.replacements()?)),
        "ReplicaCountTransformer" => one(Box::new(reader.replicas()?)),
        "ValueAddTransformer" => one(Box::new(ValueAdd::new(&node, site)?)),
        other => Err(Error::new(format!("unable to load builtin {other}"))
            .help("there is no builtin generator or transformer of this kind")),
    }
}

/// The error for whatever needs Helm.
pub(crate) fn helm_is_off() -> Error {
    Error::new("must specify --enable-helm")
        .help("Flux does not inflate Helm charts in a kustomization file: use a HelmRelease")
}

/// The configuration as kustomize hands it to a plugin: written out and read again, so that what looks like a number is
/// one. Places are kept for messages.
fn settled(config: &Resource) -> Result<Node, Error> {
    config
        .node()
        .to_json()
        .map_err(|error| Error::new(error.message))?;
    Ok(config.node().clone())
}

struct Reader<'a> {
    node: &'a Node,
    config: &'a Resource,
    site: Site<'a, 'a>,
}

/// A field that may be missing from a configuration, whatever type it has.
type Fallible<T> = Result<T, Error>;

impl Reader<'_> {
    fn fail(&self, error: Mismatch) -> Error {
        let file = firstpass_source::RepoPath::clamped(&self.config.origin.file);
        error.in_file(&file)
    }

    fn parsed<T: Read>(&self) -> Fallible<T> {
        T::read(self.node, Rules::OBJECT).map_err(|error| self.fail(error))
    }

    /// Reads fields of the configuration; those that nobody asks for are ignored.
    fn fields<T>(&self, read: impl FnOnce(&mut Fields<'_>) -> Result<T, Mismatch>) -> Fallible<T> {
        Fields::of(self.node, Rules::OBJECT)
            .and_then(|mut fields| read(&mut fields))
            .map_err(|error| self.fail(error))
    }

    fn generator(&self, kind: Kind) -> Fallible<Plugin> {
        let (mut args, metadata) = self.fields(|fields| {
            let args = match kind {
                Kind::ConfigMap => config_map_args(fields)?,
                Kind::Secret => secret_args(fields)?,
            };
            Ok((args, fields.take::<Metadata>("metadata")?))
        })?;
        if args.name.is_empty() {
            args.name = metadata.name;
        }
        if args.namespace.is_empty() {
            args.namespace = metadata.namespace;
        }
        let args = Located {
            value: args,
            mark: self.node.mark,
        };
        Ok(Plugin::Generator(Box::new(Generator::Object(kind, args))))
    }

    fn annotations(&self) -> Fallible<Annotations> {
        self.fields(|fields| {
            Ok(Annotations {
                annotations: fields.take("annotations")?,
                specs: fields.take("fieldSpecs")?,
            })
        })
    }

    fn labels(&self) -> Fallible<Labels> {
        self.fields(|fields| {
            Ok(Labels {
                labels: fields.take("labels")?,
                specs: fields.take("fieldSpecs")?,
            })
        })
    }

    fn image_tag(&self) -> Fallible<ImageTag> {
        let (image, specs) = self.fields(|fields| {
            Ok((
                fields.take::<Image>("imageTag")?,
                fields.take::<FieldSpecs>("fieldSpecs")?,
            ))
        })?;
        ImageTag::new(image, &specs)
    }

    fn namespace(&self) -> Fallible<Namespace> {
        let (metadata, specs, unset_only, subjects) = self.fields(|fields| {
            Ok((
                fields.take::<Metadata>("metadata")?,
                fields.take::<FieldSpecs>("fieldSpecs")?,
                fields.take::<bool>("unsetOnly")?,
                fields.take::<String>("setRoleBindingSubjects")?,
            ))
        })?;
        Ok(Namespace::new(
            metadata.namespace,
            &specs,
            unset_only,
            Subjects::parse(&subjects)?,
        ))
    }

    fn affix(&self, side: Affix) -> Fallible<NameAffix> {
        let name = match side {
            Affix::Prefix => "prefix",
            Affix::Suffix => "suffix",
        };
        let (text, specs) = self.fields(|fields| {
            Ok((
                fields.take::<String>(name)?,
                fields.take_if_set::<Vec<FieldSpec>>("fieldSpecs")?,
            ))
        })?;
        let specs = specs.ok_or_else(|| Error::new("fieldSpecs is not expected to be nil"))?;
        Ok(NameAffix {
            side,
            text,
            specs: FieldSpecs(specs),
        })
    }

    fn replicas(&self) -> Fallible<ReplicaCount> {
        self.fields(|fields| {
            Ok(ReplicaCount {
                replica: fields.take::<Replica>("replica")?,
                specs: fields.take("fieldSpecs")?,
            })
        })
    }

    fn patch(&self) -> Fallible<PatchEntry> {
        let patch = self.fields(|fields| {
            Ok(Patch {
                path: fields.take("path")?,
                patch: fields.take("patch")?,
                target: fields.take_if_set::<Selector>("target")?,
                options: fields.take_if_set::<PatchOptions>("options")?,
            })
        })?;
        PatchEntry::new(&self.located(patch), self.site)
    }

    fn patch_json6902(&self) -> Fallible<PatchJson6902> {
        let patch = self.fields(|fields| {
            Ok(Patch {
                path: fields.take("path")?,
                patch: fields.take("jsonOp")?,
                target: fields.take_if_set::<Selector>("target")?,
                options: None,
            })
        })?;
        PatchJson6902::new(&self.located(patch), self.site)
    }

    fn patch_strategic_merge(&self) -> Fallible<PatchStrategicMerge> {
        let (paths, text) = self.fields(|fields| {
            Ok((
                fields.take::<Vec<Located<String>>>("paths")?,
                fields.take::<String>("patches")?,
            ))
        })?;
        PatchStrategicMerge::new(&paths, &text, self.site)
    }

    fn replacements(&self) -> Fallible<Replacements> {
        let fields = self.fields(|fields| fields.take::<Vec<Located<ReplacementField>>>("replacements"))?;
        Replacements::new(&fields, self.site)
    }

    fn located<T>(&self, value: T) -> Located<T> {
        Located {
            value,
            mark: self.node.mark,
        }
    }
}
