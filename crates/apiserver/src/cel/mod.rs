//! CEL as Kubernetes and Flux evaluate it: expressions, the libraries that they may call, and values with a schema.
//!
//! Nothing here refuses anything by itself: an expression that cannot be compiled or evaluated here gives an error, and
//! who asked decides what that means.

mod cost;
mod infer;
mod library;
mod span;
mod typed;
mod values;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use cel::common::value::Val;
use cel::{Context, Env, Program};
use serde_json::Value;

use crate::crd::Structural;

pub use cost::ends_soon;

/// A value with more parts than this is not judged: real ones stay far below, and expressions may look at every pair.
const PARTS_MAX: usize = 20_000;

/// Which functions there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    /// Those of Kubernetes' API server.
    Kubernetes,
    /// Those of Flux (fluxcd/pkg, `runtime/cel`): the standard ones, optionals, strings, sets and encoders.
    Flux,
}

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Expression {
    compiled: Arc<Compiled>,
    library: Library,
}

#[derive(Debug)]
struct Compiled {
    program: Program,
    /// Free variables, sorted.
    variables: Vec<String>,
}

/// A variable of an expression.
pub enum Variable<'a> {
    /// Plain content.
    Json(&'a Value),
    /// Content with a schema, which gives it its types.
    Typed(&'a Value, &'a Structural),
    /// Content that may be missing, as an optional.
    Optional(Option<(&'a Value, &'a Structural)>),
}

impl Expression {
    /// Compiles an expression; compiled ones are remembered for the life of the process.
    ///
    /// # Errors
    /// What the parser says.
    pub fn compile(text: &str, library: Library) -> Result<Expression, String> {
        type Cache = Mutex<BTreeMap<(Library, String), Result<Arc<Compiled>, String>>>;
        static CACHE: OnceLock<Cache> = OnceLock::new();
        let cache = CACHE.get_or_init(Cache::default);
        let key = (library, text.to_owned());
        let known = cache
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(&key)
            .cloned();
        let compiled = match known {
            Some(compiled) => compiled,
            None => {
                let compiled = compile(text, library);
                cache
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .insert(key, compiled.clone());
                compiled
            }
        };
        compiled.map(|compiled| Expression { compiled, library })
    }

    /// Compiles an expression whose only variables are objects of unknown structure, and that has to be a truth value, as
    /// cel-go's compiler checks it: other names are errors, and so is a result whose type is not known to be `bool`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn compile_condition(text: &str, library: Library, variables: &[&str]) -> Result<Expression, String> {
        let expression = Expression::compile(text, library)?;
        let unknown = expression
            .compiled
            .variables
            .iter()
            .find(|name| !variables.contains(&name.as_str()) && !infer::is_type_name(name));
        if let Some(name) = unknown {
            return Err(format!("undeclared reference to '{name}' (in container '')"));
        }
        match infer::result_type(&expression.compiled.program.expression().expr) {
            Some("bool") | None => Ok(expression),
            Some(other) => Err(format!(
                "CEL expression output type mismatch: expected bool, got {other}"
            )),
        }
    }

    /// Whether the expression uses a variable.
    pub fn uses(&self, variable: &str) -> bool {
        self.compiled.variables.iter().any(|name| name == variable)
    }

    /// Evaluates it to a truth value.
    ///
    /// # Errors
    /// What went wrong, such as a missing key, or that the value is none.
    pub fn is_true(&self, variables: &[(&str, Variable<'_>)]) -> Result<bool, String> {
        match self.evaluate(variables)? {
            cel::Value::Bool(value) => Ok(value),
            other => Err(format!("evaluates to {}, not to a truth value", other.type_of())),
        }
    }

    /// Evaluates it to a text.
    ///
    /// # Errors
    /// What went wrong, or that the value is no text.
    pub fn text(&self, variables: &[(&str, Variable<'_>)]) -> Result<String, String> {
        match self.evaluate(variables)? {
            cel::Value::String(text) => Ok(text.to_string()),
            other => Err(format!("evaluates to {}, not to a text", other.type_of())),
        }
    }

    /// Evaluates it to a truth value with the fields of an object as variables.
    ///
    /// # Errors
    /// What went wrong.
    pub fn is_true_of(&self, object: &Value) -> Result<bool, String> {
        let variables: Vec<(&str, Variable<'_>)> = object
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), Variable::Json(value)))
            .collect();
        self.is_true(&variables)
    }

    fn evaluate(&self, variables: &[(&str, Variable<'_>)]) -> Result<cel::Value, String> {
        let used = variables.iter().filter(|(name, _)| self.uses(name));
        ends_soon(
            self.compiled.program.expression(),
            used.filter_map(|(_, variable)| variable.content()),
        )?;
        let mut context = Context::with_env(environment(self.library));
        for (name, variable) in variables {
            if self.uses(name) {
                context.add_variable_as_val(*name, variable.to_val()?);
            }
        }
        self.compiled
            .program
            .execute(&context)
            .map_err(|error| error.to_string())
    }
}

impl<'a> Variable<'a> {
    fn content(&self) -> Option<&'a Value> {
        match *self {
            Variable::Json(value) | Variable::Typed(value, _) => Some(value),
            Variable::Optional(content) => content.map(|(value, _)| value),
        }
    }

    fn to_val(&self) -> Result<Box<dyn Val + 'a>, String> {
        let mut budget = PARTS_MAX;
        let value = match *self {
            Variable::Json(value) => typed::plain(value, &mut budget),
            Variable::Typed(value, schema) => typed::with_schema(value, schema, &mut budget),
            Variable::Optional(content) => {
                let content = content.map(|(value, schema)| typed::with_schema(value, schema, &mut budget));
                match content {
                    Some(None) => None,
                    Some(Some(value)) => Some(typed::optional(Some(value))),
                    None => Some(typed::optional(None)),
                }
            }
        };
        value.ok_or_else(|| "the value is too big to be judged".to_owned())
    }
}

fn compile(text: &str, library: Library) -> Result<Arc<Compiled>, String> {
    let program = environment(library)
        .compile(text)
        .map_err(|error| error.to_string().replace('\n', " "))?;
    let mut variables = infer::free_variables(program.expression());
    variables.sort();
    variables.dedup();
    Ok(Arc::new(Compiled { program, variables }))
}

fn environment(library: Library) -> Arc<Env> {
    static KUBERNETES: OnceLock<Arc<Env>> = OnceLock::new();
    static FLUX: OnceLock<Arc<Env>> = OnceLock::new();
    match library {
        Library::Kubernetes => Arc::clone(KUBERNETES.get_or_init(|| Arc::new(library::kubernetes()))),
        Library::Flux => Arc::clone(FLUX.get_or_init(|| Arc::new(library::flux()))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[track_caller]
    fn check(library: Library, object: &Value, table: &[(&str, Result<bool, ()>)]) {
        for (text, expected) in table {
            let expression =
                Expression::compile(text, library).unwrap_or_else(|error| panic!("{text}: {error}"));
            let value = expression.is_true(&[("self", Variable::Json(object))]);
            assert_eq!(value.clone().map_err(|_| ()), *expected, "{text}: {value:?}");
        }
    }

    #[test]
    fn expressions_see_the_fields_of_an_object() {
        // F-533
        let object =
            json!({"status": {"phase": "Deployed", "conditions": [{"type": "Ready", "status": "True"}]}});
        let table = [
            ("status.phase == 'Deployed'", Ok(true)),
            ("status.phase == 'Error'", Ok(false)),
            (
                "status.conditions.exists(e, e.type == 'Ready' && e.status == 'True')",
                Ok(true),
            ),
            (
                "status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')",
                Ok(true),
            ),
            ("has(status.observedGeneration)", Ok(false)),
            ("status.?observedGeneration.orValue(1) == 1", Ok(true)),
            ("status.phase.lowerAscii() == 'deployed'", Ok(true)),
            ("sets.contains(['Deployed', 'Up'], [status.phase])", Ok(true)),
            ("status.missing == 1", Err(())),
            ("status.phase", Err(())),
            // Not in Flux's environment.
            ("isURL(status.phase)", Err(())),
        ];
        for (text, expected) in table {
            let value = Expression::compile(text, Library::Flux)
                .unwrap()
                .is_true_of(&object);
            assert_eq!(value.clone().map_err(|_| ()), expected, "{text}: {value:?}");
        }
        assert!(Expression::compile("status.phase ==", Library::Flux).is_err());
    }

    #[test]
    fn kubernetes_has_libraries_of_its_own() {
        let object = json!({
            "url": "https://user@example.com:8080/a/b?x=1&x=2", "ip": "192.168.0.1", "cidr": "192.168.0.0/24",
            "memory": "1.5Gi", "list": [3, 1, 2], "name": "a-b", "pause": "90s", "version": "v1.2.3", "n": 5,
        });
        check(
            Library::Kubernetes,
            &object,
            &[
                ("isURL(self.url) && !isURL(self.name)", Ok(true)),
                (
                    "url(self.url).getScheme() == 'https' && url(self.url).getPort() == '8080'",
                    Ok(true),
                ),
                (
                    "url(self.url).getHostname() == 'example.com' && url(self.url).getHost() == 'example.com:8080'",
                    Ok(true),
                ),
                (
                    "url(self.url).getEscapedPath() == '/a/b' && url(self.url).getQuery()['x'] == ['1', '2']",
                    Ok(true),
                ),
                ("url(self.name).getScheme() == ''", Err(())),
                (
                    "isIP(self.ip) && ip(self.ip).family() == 4 && !isIP(self.cidr)",
                    Ok(true),
                ),
                (
                    "ip(self.ip).isGlobalUnicast() && !ip('127.0.0.1').isGlobalUnicast()",
                    Ok(true),
                ),
                (
                    "ip(self.ip) == ip('192.168.0.1') && string(ip(self.ip)) == self.ip",
                    Ok(true),
                ),
                (
                    "isCIDR(self.cidr) && cidr(self.cidr).containsIP(self.ip) && cidr(self.cidr).prefixLength() == 24",
                    Ok(true),
                ),
                ("cidr(self.cidr).containsIP(ip('10.0.0.1'))", Ok(false)),
                (
                    "cidr(self.cidr).containsCIDR('192.168.0.128/25') && cidr(self.cidr).ip() == ip('192.168.0.0')",
                    Ok(true),
                ),
                (
                    "isQuantity(self.memory) && quantity(self.memory).isGreaterThan(quantity('1G'))",
                    Ok(true),
                ),
                (
                    "quantity('1Gi').compareTo(quantity('1024Mi')) == 0 && quantity('1k').asInteger() == 1000",
                    Ok(true),
                ),
                (
                    "quantity('200m').add(quantity('1')).sub(quantity('1200m')).sign() == 0",
                    Ok(true),
                ),
                ("quantity(self.name).isInteger()", Err(())),
                (
                    "self.list.sum() == 6 && self.list.min() == 1 && self.list.max() == 3 && !self.list.isSorted()",
                    Ok(true),
                ),
                (
                    "self.list.indexOf(2) == 2 && self.list.lastIndexOf(7) == -1",
                    Ok(true),
                ),
                (
                    "self.name.matches('^[a-z-]+$') && self.name.find('[a-z]') == 'a' && self.name.findAll('[a-z]').size() == 2",
                    Ok(true),
                ),
                ("self.name.matches('(')", Err(())),
                (
                    "duration(self.pause) > duration('1m') && duration('1h').getMinutes() == 60",
                    Ok(true),
                ),
                (
                    "duration('1500ms').getMilliseconds() == 1500 && duration('1h') + duration('1m') == duration('61m')",
                    Ok(true),
                ),
                ("duration(self.name) > duration('1m')", Err(())),
                ("!format.dns1123Label().validate(self.name).hasValue()", Ok(true)),
                ("format.dns1123Label().validate('A').hasValue()", Ok(true)),
                (
                    "format.named('uuid').hasValue() && !format.named('none').hasValue()",
                    Ok(true),
                ),
                (
                    "isSemver('1.2.3') && semver('1.2.3').isLessThan(semver('1.10.0')) && semver('2.1.0').major() == 2",
                    Ok(true),
                ),
                (
                    "self.name.split('-').size() == 2 && self.name.upperAscii() == 'A-B' && self.name.replace('-', '') == 'ab'",
                    Ok(true),
                ),
                ("'%s-%d'.format([self.name, self.n]) == 'a-b-5'", Ok(true)),
                (
                    "sets.intersects([1, 2], [2, 3]) && sets.equivalent([1, 2], [2, 1])",
                    Ok(true),
                ),
                ("type(self.n) == int && type(self.name) == string", Ok(true)),
                ("math.greatest(1, self.n) == 5", Ok(true)),
                ("self.?nothing.optMap(v, v == 'x').orValue(true)", Ok(true)),
            ],
        );
    }

    #[test]
    fn conditions_have_known_names_and_a_known_type() {
        // F-125
        let compile = |text: &str| Expression::compile_condition(text, Library::Flux, &["self", "dep"]);
        for text in [
            "dep.status.ready == true",
            "has(dep.status) && !has(self.spec.x)",
            "dep.status.conditions.exists(c, c.type == 'Ready')",
            "dep.status.conditions.filter(c, c.type == 'Ready').size() == 1",
            "dep.metadata.name.startsWith('a') || type(dep.spec) == map",
            "'a' in dep.metadata.labels ? true : dep.spec.x > 1",
        ] {
            assert!(compile(text).is_ok(), "{text}: {:?}", compile(text).err());
        }
        for text in [
            "other.status == 1",
            "'text'",
            "dep.status.ready",
            "dep.status['ready']",
            "1 + 1",
            "size(dep.status)",
            "dep.status.conditions.filter(c, c.type == 'Ready')",
            "dep.status ==",
        ] {
            assert!(compile(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_value_without_bounds_is_not_judged() {
        let object = json!({"list": vec![1; 30_000]});
        let expression = Expression::compile("self.list.all(a, a == 1)", Library::Kubernetes).unwrap();
        assert!(expression.is_true(&[("self", Variable::Json(&object))]).is_err());
    }
}
