//! Jobs and CronJobs.

use firstpass_object::ObjectExt;
use serde_json::Value;

use super::{Checker, Path, names, pod};

/// The controller appends eleven characters to the name of a CronJob, and a Job's name has at most 63.
const CRON_JOB_NAME_MAX: usize = 52;

pub(super) fn check_job_spec(checker: &mut Checker<'_>, spec: &Value, path: Path<'_>) {
    for field in [
        "parallelism",
        "completions",
        "backoffLimit",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ] {
        checker.non_negative(spec, &path, field);
    }
    completion(checker, spec, &path);
    checker.pointer_one_of(
        spec,
        &path,
        "podReplacementPolicy",
        &["TerminatingOrFailed", "Failed"],
    );
    failure_policy(checker, spec, &path);
    pod::check_template(
        checker,
        &spec["template"],
        &path.field("template"),
        &["OnFailure", "Never"],
    );
}

/// What depends on whether the pods of a Job have numbers.
fn completion(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    checker.pointer_one_of(spec, path, "completionMode", &["NonIndexed", "Indexed"]);
    let has = |field: &str| spec.get(field).is_some_and(|value| !value.is_null());
    if spec.text_at(&["completionMode"]) == Some("Indexed") {
        if !has("completions") {
            checker.required(path.field("completions"), "when completion mode is Indexed");
        }
    } else if spec
        .text_at(&["completionMode"])
        .is_none_or(|mode| mode == "NonIndexed")
    {
        for field in ["backoffLimitPerIndex", "maxFailedIndexes"] {
            if has(field) {
                checker.invalid(
                    path.field(field),
                    &spec[field],
                    "requires indexed completion mode",
                );
            }
        }
    }
    if has("maxFailedIndexes") && !has("backoffLimitPerIndex") {
        checker.required(
            path.field("backoffLimitPerIndex"),
            "when maxFailedIndexes is specified",
        );
    }
    if let (Some(failed), Some(completions)) = (
        checker.number(spec, "maxFailedIndexes"),
        checker.number(spec, "completions"),
    ) && failed > completions
    {
        let message = "must be less than or equal to completions";
        checker.invalid(path.field("maxFailedIndexes"), &Value::from(failed), message);
    }
}

fn failure_policy(checker: &mut Checker<'_>, spec: &Value, path: &Path<'_>) {
    let rules_path = path.field("podFailurePolicy");
    let rules_path = rules_path.field("rules");
    let pod = &spec["template"]["spec"];
    let containers: Vec<&str> = ["containers", "initContainers"]
        .iter()
        .flat_map(|list| pod.items_at(&[list]))
        .filter_map(|container| container.text_at(&["name"]))
        .collect();
    let rules = spec.items_at(&["podFailurePolicy", "rules"]);
    for (index, rule) in rules.iter().enumerate() {
        let path = rules_path.index(index);
        required_one_of(
            checker,
            rule,
            &path,
            "action",
            &["Count", "FailIndex", "FailJob", "Ignore"],
        );
        let codes = &rule["onExitCodes"];
        let conditions = rule.items_at(&["onPodConditions"]);
        match (codes.is_object(), conditions.is_empty()) {
            (true, false) => {
                checker.push(
                    path,
                    "Invalid value: specifying both OnExitCodes and OnPodConditions is not supported",
                );
            }
            (false, true) => {
                checker.push(
                    path,
                    "Invalid value: specifying one of OnExitCodes and OnPodConditions is required",
                );
            }
            _ => {}
        }
        if codes.is_object() {
            exit_codes(checker, codes, &path.field("onExitCodes"), &containers);
        }
        let list = path.field("onPodConditions");
        for (index, condition) in conditions.iter().enumerate() {
            let path = list.index(index);
            let kind = condition.text_at(&["type"]).unwrap_or_default();
            checker.text(path.field("type"), kind, names::qualified_name(kind));
            checker.field_one_of(condition, &path, "status", &["False", "True", "Unknown"]);
        }
    }
}

fn exit_codes(checker: &mut Checker<'_>, codes: &Value, path: &Path<'_>, containers: &[&str]) {
    required_one_of(checker, codes, path, "operator", &["In", "NotIn"]);
    if let Some(name) = codes
        .text_at(&["containerName"])
        .filter(|name| !containers.contains(name))
    {
        let message = "must be one of the container or initContainer names in the pod template";
        checker.invalid_text(path.field("containerName"), name, message);
    }
    let values_path = path.field("values");
    let values: Vec<i64> = codes
        .items_at(&["values"])
        .iter()
        .filter_map(Value::as_i64)
        .collect();
    if values.is_empty() {
        checker.invalid(values_path, &codes["values"], "at least one value is required");
    }
    for (index, value) in values.iter().enumerate() {
        if values[..index].contains(value) {
            checker.duplicate(values_path.index(index), &Value::from(*value));
        }
        if *value == 0 && codes.text_at(&["operator"]) == Some("In") {
            let message = "must not be 0 for the In operator";
            checker.invalid(values_path.index(index), &Value::from(0), message);
        }
    }
    if !values.is_sorted() {
        checker.invalid(values_path, &codes["values"], "must be ordered");
    }
}

/// A word that has to be there.
fn required_one_of(checker: &mut Checker<'_>, parent: &Value, path: &Path<'_>, field: &str, words: &[&str]) {
    match parent.text_at(&[field]).unwrap_or_default() {
        "" => {
            let quoted: Vec<String> = words.iter().map(|word| format!("{word:?}")).collect();
            checker.required(
                path.field(field),
                &format!("valid values: [{}]", quoted.join(" ")),
            );
        }
        word => checker.one_of(path.field(field), word, words),
    }
}

pub(super) fn check_cron_job(checker: &mut Checker<'_>, object: &Value) {
    let spec = &object["spec"];
    let path = Path::ROOT.field("spec");
    let name = object.name();
    if name.len() > CRON_JOB_NAME_MAX {
        let message = format!("must be no more than {CRON_JOB_NAME_MAX} characters");
        checker.invalid_text(Path::ROOT.field("metadata").field("name"), name, message);
    }
    if let Some(schedule) = checker.required_text(spec, &path, "schedule") {
        if schedule.contains("TZ") {
            let message = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
            checker.invalid_text(path.field("schedule"), schedule, message);
        } else if let Err(message) = check_schedule(schedule) {
            checker.invalid_text(path.field("schedule"), schedule, message);
        }
    }
    checker.field_one_of(spec, &path, "concurrencyPolicy", &["Allow", "Forbid", "Replace"]);
    for field in [
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ] {
        checker.non_negative(spec, &path, field);
    }
    if spec.text_at(&["timeZone"]) == Some("") {
        checker.invalid_text(
            path.field("timeZone"),
            "",
            "timeZone must be nil or non-empty string",
        );
    }
    check_job_spec(
        checker,
        &spec["jobTemplate"]["spec"],
        path.field("jobTemplate").field("spec"),
    );
}

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const DAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// A field of a schedule: least, most, names of the values from `least` on.
type CronField = (u32, u32, &'static [&'static str]);
const FIELDS: [CronField; 5] = [
    (0, 59, &[]),
    (0, 23, &[]),
    (1, 31, &[]),
    (1, 12, &MONTHS),
    (0, 6, &DAYS),
];

/// The standard form of cron with five fields, or one of its short words.
fn check_schedule(schedule: &str) -> Result<(), String> {
    if let Some(word) = schedule.strip_prefix('@') {
        let known = [
            "yearly", "annually", "monthly", "weekly", "daily", "midnight", "hourly",
        ];
        return if known.contains(&word) || word.starts_with("every ") {
            Ok(())
        } else {
            Err(format!("unrecognized descriptor: {schedule}"))
        };
    }
    let fields: Vec<&str> = schedule.split_whitespace().collect();
    if fields.len() != FIELDS.len() {
        return Err(format!(
            "expected exactly 5 fields, found {}: [{}]",
            fields.len(),
            fields.join(" ")
        ));
    }
    fields
        .iter()
        .zip(FIELDS)
        .try_for_each(|(text, field)| text.split(',').try_for_each(|range| check_range(range, field)))
}

fn check_range(text: &str, (least, most, names): CronField) -> Result<(), String> {
    let number = |text: &str| -> Result<u32, String> {
        let lower = text.to_lowercase();
        if let Some(index) = names.iter().position(|name| *name == lower) {
            return Ok(least + index as u32);
        }
        text.parse().map_err(|_| {
            format!("failed to parse int from {text}: strconv.Atoi: parsing {text:?}: invalid syntax")
        })
    };
    let (range, step) = text.split_once('/').unwrap_or((text, "1"));
    if step.contains('/') {
        return Err(format!("too many slashes: {text}"));
    }
    if number(step)? == 0 {
        return Err(format!("step of range should be a positive number: {text}"));
    }
    if matches!(range, "*" | "?") {
        return Ok(());
    }
    let (start, end) = range.split_once('-').unwrap_or((range, range));
    let (start, end) = (number(start)?, number(end)?);
    if start < least {
        return Err(format!(
            "beginning of range ({start}) below minimum ({least}): {text}"
        ));
    }
    if end > most {
        return Err(format!("end of range ({end}) above maximum ({most}): {text}"));
    }
    if start > end {
        return Err(format!(
            "beginning of range ({start}) beyond end of range ({end}): {text}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_schedule;

    #[test]
    fn schedules() {
        for good in [
            "* * * * *",
            "*/5 0-6 1,15 jan-mar MON",
            "@daily",
            "@every 1h",
            "0 3 ? * 1-5",
        ] {
            assert_eq!(check_schedule(good), Ok(()), "{good}");
        }
        for (bad, message) in [
            ("* * * *", "expected exactly 5 fields, found 4: [* * * *]"),
            ("60 * * * *", "end of range (60) above maximum (59): 60"),
            ("* * 0 * *", "beginning of range (0) below minimum (1): 0"),
            ("*/0 * * * *", "step of range should be a positive number: */0"),
            ("@fortnightly", "unrecognized descriptor: @fortnightly"),
            (
                "5-1 * * * *",
                "beginning of range (5) beyond end of range (1): 5-1",
            ),
        ] {
            assert_eq!(check_schedule(bad), Err(message.to_owned()));
        }
    }
}
