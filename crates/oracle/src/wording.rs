//! Messages without what is random by nature: revisions become numbers, durations are rounded, lists sorted.

/// The message, the same in every run.
pub(crate) fn normalise(message: &str) -> String {
    let message = revisions(message);
    let message = durations(&message);
    let message = lists(&message);
    let message = paths(&message);
    let message = values(&message);
    let message = releases(&message);
    // What the parser of an expression expected is its own matter.
    let message = message
        .split_once("ERROR: <input>")
        .map_or(message.as_str(), |(before, _)| before);
    message.trim_end().replace('\n', "\\n")
}

/// `main@sha1:0…2a` becomes `revision 42`.
fn revisions(message: &str) -> String {
    const MARK: &str = "main@sha1:";
    let mut rest = message;
    let mut text = String::new();
    while let Some(at) = rest.find(MARK) {
        let (before, after) = rest.split_at(at);
        text.push_str(before);
        let digits = &after[MARK.len()..];
        let end = digits
            .find(|char: char| !char.is_ascii_hexdigit())
            .unwrap_or(digits.len());
        match u64::from_str_radix(&digits[..end], 16) {
            Ok(number) => {
                text.push_str("revision ");
                text.push_str(&number.to_string());
            }
            Err(_) => text.push_str(&after[..MARK.len() + end]),
        }
        rest = &digits[end..];
    }
    text + rest
}

/// `after 30.0123s` becomes `after 30s`: waits are multiples of five seconds.
fn durations(message: &str) -> String {
    const MARK: &str = "after ";
    let mut rest = message;
    let mut text = String::new();
    while let Some(at) = rest.find(MARK) {
        let (before, after) = rest.split_at(at + MARK.len());
        text.push_str(before);
        let end = after
            .find(|char: char| !(char.is_ascii_digit() || ".msµ".contains(char)))
            .unwrap_or(after.len());
        match seconds(&after[..end]) {
            Some(seconds) => {
                let rounded = (seconds / 5.0).round() * 5.0;
                text.push_str(&format!("{rounded:.0}s"));
            }
            None => text.push_str(&after[..end]),
        }
        rest = &after[end..];
    }
    text + rest
}

/// Go's way to print a duration below an hour.
fn seconds(text: &str) -> Option<f64> {
    let one = |text: &str| -> Option<f64> {
        if let Some(number) = text.strip_suffix("ms") {
            return number.parse::<f64>().ok().map(|number| number / 1000.0);
        }
        if let Some(number) = text.strip_suffix("µs") {
            return number.parse::<f64>().ok().map(|number| number / 1e6);
        }
        text.strip_suffix('s')?.parse().ok()
    };
    if let Some(found) = one(text) {
        return Some(found);
    }
    let (minutes, rest) = text.split_once('m')?;
    Some(minutes.parse::<f64>().ok()? * 60.0 + one(rest)?)
}

/// The lists of what is waited for have no order of their own (F-505).
fn lists(message: &str) -> String {
    for mark in ["timeout waiting for: [", "stalled resources: ["] {
        let Some(at) = message.find(mark) else { continue };
        let start = at + mark.len();
        let Some(length) = message[start..].find(']') else {
            continue;
        };
        let mut items: Vec<&str> = message[start..start + length].split(", ").collect();
        items.sort_unstable();
        return format!(
            "{}{}{}",
            &message[..start],
            items.join(", "),
            &message[start + length..]
        );
    }
    message.to_owned()
}

/// `Invalid value: {…}: field is immutable` without the value, which holds what controllers made up.
fn values(message: &str) -> String {
    const MARK: &str = "Invalid value: {";
    match (message.find(MARK), message.rfind("}: ")) {
        (Some(start), Some(end)) if start + MARK.len() <= end => {
            format!("{}…{}", &message[..start + MARK.len()], &message[end..])
        }
        _ => message.to_owned(),
    }
}

/// How a release says that time is up depends on what it was doing at that moment.
fn releases(message: &str) -> String {
    let marks = [
        "client rate limiter Wait returned an error",
        "timeout waiting for: [",
    ];
    let mark = marks.iter().filter_map(|mark| message.find(mark)).min();
    match mark.filter(|_| message.starts_with("Helm ")) {
        Some(at) => format!("{}timeout", &message[..at]),
        None => message.to_owned(),
    }
}

/// Directories and addresses that were made for a run.
fn paths(message: &str) -> String {
    let mut words: Vec<String> = Vec::new();
    for word in message.split(' ') {
        let after_call = words.last().is_some_and(|last| last == "stat" || last == "open");
        let made = ["/tmp/", "/kustomization-", "…/"]
            .iter()
            .any(|mark| word.contains(mark));
        let start = word.find('/').filter(|_| after_call || made);
        let text = if let Some(start) = start {
            let quote: String = word[..start].chars().filter(|char| *char == '\'').collect();
            let last = word.rfind('/').unwrap_or(start);
            format!("{quote}…{}", &word[last..])
        } else {
            without_port(word)
        };
        words.push(text);
    }
    words.join(" ")
}

fn without_port(word: &str) -> String {
    const HOST: &str = "127.0.0.1:";
    let Some(at) = word.find(HOST) else {
        return word.to_owned();
    };
    let rest = word[at + HOST.len()..].trim_start_matches(|char: char| char.is_ascii_digit());
    format!("{}HOST{rest}", &word[..at])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_random_goes() {
        assert_eq!(
            normalise("Applied revision: main@sha1:000000000000000000000000000000000000002a"),
            "Applied revision: revision 42"
        );
        assert_eq!(
            normalise(
                "health check failed after 30.0412s: timeout waiting for: [B/x status: 'InProgress', A/y status: 'Unknown']"
            ),
            "health check failed after 30s: timeout waiting for: [A/y status: 'Unknown', B/x status: 'InProgress']"
        );
        assert_eq!(normalise("after 1m0.02s"), "after 60s");
        assert_eq!(
            normalise("Helm install failed for release a/b: timeout waiting for: [Deployment/a/b]"),
            "Helm install failed for release a/b: timeout"
        );
        assert_eq!(
            normalise("path not found: stat /tmp/kustomization-1/nowhere: no such file"),
            normalise("path not found: stat ./nowhere: no such file")
        );
        assert_eq!(
            normalise("Get \"http://127.0.0.1:41/1.tar.gz\": refused"),
            "Get \"http://HOST/1.tar.gz\": refused"
        );
    }
}
