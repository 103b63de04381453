//! APIServices.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names};

pub(super) fn check(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let text = |field: &str| spec.text_at(&[field]).unwrap_or_default();
    let (group, version) = (text("group"), text("version"));
    let wanted = format!("{version}.{group}");
    if object.name() != wanted {
        let metadata = Path::ROOT.field("metadata");
        checker.invalid_text(
            metadata.field("name"),
            object.name(),
            format!("must be `spec.version+\".\"+spec.group`: {wanted:?}"),
        );
    }
    if group.is_empty() {
        if version != "v1" {
            checker.required(
                path.field("group"),
                "only v1 may have an empty group and it better be legacy kube",
            );
        }
    } else {
        checker.text(path.field("group"), group, names::dns1123_subdomain(group));
    }
    checker.text(path.field("version"), version, names::dns1035_label(version));
    for (field, most) in [("groupPriorityMinimum", 20000), ("versionPriority", 1000)] {
        let number = checker.number(spec, field).unwrap_or(0);
        if number <= 0 || number > most {
            checker.invalid(
                path.field(field),
                &Value::from(number),
                format!("must be positive and less than {most}"),
            );
        }
    }
    let is_blind = spec.get("insecureSkipTLSVerify") == Some(&Value::Bool(true));
    let has_bundle = !text("caBundle").is_empty();
    let service = &spec["service"];
    if !service.is_object() {
        if has_bundle {
            let message = "local APIServices may not have a caBundle";
            checker.invalid(path.field("caBundle"), &spec["caBundle"], message);
        }
        if is_blind {
            let message = "local APIServices may not have insecureSkipTLSVerify";
            checker.invalid(path.field("insecureSkipTLSVerify"), &Value::Bool(true), message);
        }
        return;
    }
    let service_path = path.field("service");
    for field in ["namespace", "name"] {
        checker.required_text(service, &service_path, field);
    }
    if let Some(port) = checker
        .number(service, "port")
        .filter(|port| !names::port_number(*port).is_empty())
    {
        let message = "port is not valid: must be between 1 and 65535, inclusive";
        checker.invalid(service_path.field("port"), &Value::from(port), message);
    }
    if is_blind && has_bundle {
        let message = "may not be true if caBundle is present";
        checker.invalid(path.field("insecureSkipTLSVerify"), &Value::Bool(true), message);
    }
}
