//! Where variables come from: the ConfigMaps and Secrets that the cluster holds when a tier is substituted.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use firstpass_object::ObjectExt;
use serde_json::Value;

/// Stands for a value that nobody knows here: it is encrypted, or exists only in the cluster. It survives in objects,
/// so that whoever reads a Secret back sees that its value is unknown.
pub const UNKNOWN_VALUE: &str = "firstpass:unknown-value";

/// A key that stands for further keys nobody knows: the Secret may hold more than it lists. No real key is spelled so.
pub const OPEN_KEY: &str = "*";

/// What answers `substituteFrom`.
pub trait Variables {
    /// The data of an object as it is now; `None` if the object does not exist.
    fn data(&self, kind: DataKind, namespace: &str, name: &str) -> Option<Data>;
}

/// The kinds that hold variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DataKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// What a ConfigMap or Secret holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Data {
    /// Values by key.
    pub values: BTreeMap<String, Datum>,
    /// Further keys may exist, with unknown values.
    pub open: bool,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Datum {
    /// The value is known.
    Known(String),
    /// There is a value, but nobody knows it here.
    Unknown,
}

impl DataKind {
    /// The kind as the API spells it.
    pub const fn as_str(self) -> &'static str {
        match self {
            DataKind::ConfigMap => "ConfigMap",
            DataKind::Secret => "Secret",
        }
    }

    /// The kind of that name.
    pub fn of(kind: &str) -> Option<DataKind> {
        match kind {
            "ConfigMap" => Some(DataKind::ConfigMap),
            "Secret" => Some(DataKind::Secret),
            _ => None,
        }
    }
}

impl Data {
    /// Data of which nothing is known.
    pub fn open() -> Data {
        Data {
            values: BTreeMap::new(),
            open: true,
        }
    }

    /// Keys with unknown values and nothing else.
    pub fn unknown<'a>(keys: impl IntoIterator<Item = &'a str>) -> Data {
        Data {
            values: keys
                .into_iter()
                .map(|key| (key.to_owned(), Datum::Unknown))
                .collect(),
            open: false,
        }
    }

    /// What a ConfigMap or Secret object holds. Of a ConfigMap only `data` counts (F-603); `stringData` of a Secret
    /// wins over its `data`, as the API server has it. Secret values that are no base64 or no text are unknown.
    pub fn of(object: &Value) -> Data {
        let secret = object.kind() == "Secret";
        let mut data = Data::default();
        let mut put = |key: &str, datum: Datum| {
            if key == OPEN_KEY {
                data.open = true;
            } else {
                data.values.insert(key.to_owned(), datum);
            }
        };
        for (key, value) in entries(object, "data") {
            let text = value.as_str().unwrap_or_default();
            put(key, if secret { decoded(text) } else { datum(text) });
        }
        if secret {
            for (key, value) in entries(object, "stringData") {
                put(key, datum(value.as_str().unwrap_or_default()));
            }
        }
        data
    }

    /// An object that holds this data, for a cluster that has to have it.
    pub fn to_object(&self, kind: DataKind, namespace: &str, name: &str) -> Value {
        let open = self.open.then(|| (OPEN_KEY.to_owned(), UNKNOWN_VALUE));
        let values = self.values.iter().map(|(key, datum)| {
            let text = match datum {
                Datum::Known(text) => text.as_str(),
                Datum::Unknown => UNKNOWN_VALUE,
            };
            (key.clone(), text)
        });
        let encode = |(key, text): (String, &str)| match kind {
            DataKind::ConfigMap => (key, Value::from(text)),
            DataKind::Secret => (key, Value::from(STANDARD.encode(text))),
        };
        let data: serde_json::Map<String, Value> = values.chain(open).map(encode).collect();
        serde_json::json!({
            "apiVersion": "v1",
            "kind": kind.as_str(),
            "metadata": {"name": name, "namespace": namespace},
            "data": data,
        })
    }
}

fn entries<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = (&'a String, &'a Value)> {
    object.get(field).and_then(Value::as_object).into_iter().flatten()
}

fn datum(text: &str) -> Datum {
    if text.contains(UNKNOWN_VALUE) {
        Datum::Unknown
    } else {
        Datum::Known(text.to_owned())
    }
}

fn decoded(text: &str) -> Datum {
    let bytes = STANDARD.decode(text.replace(['\n', '\r', ' '], "")).ok();
    match bytes.and_then(|bytes| String::from_utf8(bytes).ok()) {
        Some(text) => datum(&text),
        None => Datum::Unknown,
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn objects_and_data_mean_the_same() {
        let mut data = Data::unknown(["TOKEN"]);
        data.values
            .insert("HOST".to_owned(), Datum::Known("web.example.com".to_owned()));
        data.open = true;
        for kind in [DataKind::ConfigMap, DataKind::Secret] {
            assert_eq!(Data::of(&data.to_object(kind, "apps", "vars")), data);
        }
    }

    #[test]
    fn secrets_are_decoded_and_string_data_wins() {
        let secret = json!({"kind": "Secret", "data": {"A": "MQ==", "B": "MQ==", "C": "ENC[x]"}, "stringData": {"B": "2"}});
        let data = Data::of(&secret);
        assert_eq!(data.values["A"], Datum::Known("1".to_owned()));
        assert_eq!(data.values["B"], Datum::Known("2".to_owned()));
        assert_eq!(data.values["C"], Datum::Unknown);
    }
}
