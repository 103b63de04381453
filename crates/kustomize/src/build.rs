//! The build of a directory from start to end.

use std::collections::BTreeMap;

use firstpass_object::Origin;
use firstpass_source::{RepoPath, Tree};
use firstpass_yaml::{Mark, Node};

use crate::accumulator::Accumulator;
use crate::config::FieldSpecs;
use crate::file::{FieldSpec, KustomizationFile};
use crate::loader::Loader;
use crate::remote::RemoteRef;
use crate::resmap::ResMap;
use crate::resource::{id_of, notes};
use crate::session::Session;
use crate::target::Target;
use crate::transformer::{By, Hash, Labels, Transform, fix_name_references, resolve_vars};
use crate::{Error, objects, order, side_by_side};

/// The version of kustomize whose output this is, as `managedByLabel` notes it.
const VERSION: &str = "v5.8.1";

/// On whose terms a directory is built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// As `kustomize build`: the objects are sorted at the end, and files must lie below the kustomization file that
    /// names them.
    #[default]
    CommandLine,
    /// As Flux calls kustomize: objects stay in the order in which they came, and files may lie anywhere below the root
    /// (F-809, F-811).
    Flux,
}

/// What becomes of a part that lies elsewhere. Nothing is ever fetched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Remote {
    /// It is an error.
    #[default]
    Refuse,
    /// It is noted and left out, and so is whatever refers into it.
    Skip,
}

/// How a directory is built.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// On whose terms.
    pub mode: Mode,
    /// What becomes of parts that lie elsewhere.
    pub remote: Remote,
    /// The kustomization file of the directory, if it is not to be read from there: Flux rewrites it first.
    pub root: Option<KustomizationFile>,
}

impl Options {
    /// As `kustomize build`; parts that lie elsewhere are errors.
    pub fn command_line() -> Options {
        Options::default()
    }

    /// As Flux, with the kustomization file as it is. Parts that lie elsewhere are errors, as for Flux without a network.
    pub fn flux() -> Options {
        Options {
            mode: Mode::Flux,
            ..Options::default()
        }
    }

    /// As Flux, with a kustomization file that was rewritten. Parts that lie elsewhere are left out.
    pub fn flux_with_root(root: KustomizationFile) -> Options {
        Options {
            mode: Mode::Flux,
            remote: Remote::Skip,
            root: Some(root),
        }
    }
}

/// What came out of a build.
#[derive(Clone, Debug, Default)]
pub struct Build {
    /// The objects in order.
    pub resources: Vec<Resource>,
    /// What lies elsewhere and is missing from the objects.
    pub remote: Vec<RemoteRef>,
    /// What is worth a word but no error.
    pub warnings: Vec<Warning>,
}

/// An object that came out of a build.
#[derive(Clone, Debug)]
pub struct Resource {
    /// The object.
    pub value: serde_json::Value,
    /// Where it came from, and what shaped it.
    pub origin: Origin,
}

/// Something worth a word: a deprecated field, a var that nobody uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// What it is.
    pub message: String,
    /// The file it is about.
    pub file: RepoPath,
    /// The line, from 1; 0 if there is none to point at.
    pub line: u32,
}

impl Build {
    /// The objects as kustomize prints them.
    pub fn to_yaml(&self) -> String {
        let resources: Vec<&Resource> = self.resources.iter().collect();
        side_by_side::map(resources, |resource| firstpass_yaml::emit(&resource.value)).join("---\n")
    }
}

/// Builds a directory.
///
/// ```
/// use firstpass_kustomize::{Options, build};
/// use firstpass_source::RepoPath;
///
/// let tree = firstpass_testing::tree("
/// --- app/kustomization.yaml
/// resources: [web.yaml]
/// namespace: prod
/// --- app/web.yaml
/// apiVersion: v1
/// kind: Service
/// metadata: {name: web}
/// ");
/// let built = build(&tree, &RepoPath::clamped("app"), &Options::command_line())?;
/// assert_eq!(built.resources[0].value["metadata"]["namespace"], "prod");
/// # Ok::<(), firstpass_kustomize::Error>(())
/// ```
///
/// # Errors
/// Wherever kustomize has one.
pub fn build(tree: &dyn Tree, directory: &RepoPath, options: &Options) -> Result<Build, Error> {
    let session = Session::new(options.mode, options.remote);
    let loader = Loader::start(tree, directory, options.mode == Mode::CommandLine)?;
    let mut target = Target::load(&session, loader, options.root.as_ref())?;
    target.obey_openapi(true)?;
    target.track_origins();

    let mut gathered = Accumulator::default();
    target.accumulate(&mut gathered)?;
    finish(&mut gathered, &target.by()).map_err(|error| error.at(target.path(), Mark::NONE))?;
    let mut resources = gathered.resources;
    drop_local(&mut resources).map_err(|error| error.at(target.path(), Mark::NONE))?;
    sort(&mut resources, target.file(), options.mode).map_err(|error| error.at(target.path(), Mark::NONE))?;
    clean_up(&mut resources, target.file(), &target.by())?;

    let finished: Vec<Finished> = resources.into_items().into_iter().map(Finished::of).collect();
    let resources: Vec<Result<Resource, Error>> = side_by_side::map(finished, Finished::output);
    let resources = resources.into_iter().collect::<Result<_, _>>()?;
    let (remote, warnings) = session.into_findings();
    Ok(Build {
        resources,
        remote,
        warnings,
    })
}

/// What is done once, when all names are known: hashes, references, vars.
fn finish(gathered: &mut Accumulator, by: &By<'_>) -> Result<(), Error> {
    Hash.apply(&mut gathered.resources, by)?;
    let config = gathered.config().clone();
    fix_name_references(&config.name_reference, &mut gathered.resources, by)?;
    let vars = std::mem::take(&mut gathered.vars);
    resolve_vars(&vars, &config.var_reference, &mut gathered.resources, by)?;
    gathered.resources.settle_shared();
    Ok(())
}

/// Drops the objects that are configuration of tools (F-810).
fn drop_local(resources: &mut ResMap) -> Result<(), Error> {
    for resource in resources.iter() {
        objects::check_metadata(resource.node()).map_err(|error| {
            let place = Mark {
                line: resource.origin.line,
                column: 1,
            };
            error.at(&RepoPath::clamped(&resource.origin.file), place)
        })?;
    }
    let is_local = |value: Option<&str>| value.is_some_and(|value| value != "false");
    if resources
        .iter()
        .any(|resource| is_local(resource.annotation(notes::LOCAL_CONFIG)))
    {
        resources
            .items_mut()
            .retain(|resource| !is_local(resource.annotation(notes::LOCAL_CONFIG)));
    }
    resources.check_unique()
}

fn sort(resources: &mut ResMap, file: &KustomizationFile, mode: Mode) -> Result<(), Error> {
    match (&file.sort_options, mode) {
        (Some(options), _) => order::apply(options, resources),
        (None, Mode::CommandLine) => {
            order::apply_legacy(resources);
            Ok(())
        }
        (None, Mode::Flux) => Ok(()),
    }
}

/// Takes the notes of the build off the objects, and leaves what `buildMetadata` asks for.
fn clean_up(resources: &mut ResMap, file: &KustomizationFile, by: &By<'_>) -> Result<(), Error> {
    let wants = |option: &str| file.build_metadata.iter().any(|wanted| wanted == option);
    if wants("managedByLabel") {
        let label = Labels {
            labels: BTreeMap::from([(
                "app.kubernetes.io/managed-by".to_owned(),
                format!("kustomize-{VERSION}"),
            )]),
            specs: FieldSpecs(vec![FieldSpec {
                path: "metadata/labels".to_owned(),
                create: true,
                ..FieldSpec::default()
            }]),
        };
        label.apply(resources, by)?;
    }
    let (origins, transformations) = (wants("originAnnotations"), wants("transformerAnnotations"));
    for resource in resources.items_mut() {
        let mut annotations = resource.string_map("annotations");
        // All annotations are written anew: whatever they were, they are strings now, and an empty mapping is gone.
        let rewrites = !origins || !transformations || !annotations.is_empty();
        annotations.retain(|key, _| !notes::OF_THE_BUILD.contains(&key.as_str()));
        if !origins {
            annotations.remove(notes::ORIGIN);
        }
        if !transformations {
            annotations.remove(notes::TRANSFORMATIONS);
        }
        if rewrites {
            resource.set_string_map("annotations", &annotations);
        }
    }
    Ok(())
}

/// An object at the end of a build.
struct Finished {
    node: Node,
    origin: Origin,
}

impl Finished {
    fn of(resource: crate::resource::Resource) -> Finished {
        let (node, origin) = resource.into_parts();
        Finished { node, origin }
    }

    fn output(self) -> Result<Resource, Error> {
        let Finished { node, origin } = self;
        let value = node.to_json().map_err(|error| {
            let file = RepoPath::clamped(&origin.file);
            if error.mark != Mark::NONE {
                return Error::unreadable(&file, &error);
            }
            // No text stands behind the node: kustomize made it, and wrote it in a way that it cannot read.
            let place = Mark {
                line: origin.line,
                column: 1,
            };
            Error::new(format!("{} cannot be written: {}", id_of(&node), error.message))
                .at(&file, place)
                .help(
                    "kustomize writes the keys of labels, annotations and generated data without quotes: they may not \
                     look like numbers or booleans",
                )
        })?;
        Ok(Resource { value, origin })
    }
}
