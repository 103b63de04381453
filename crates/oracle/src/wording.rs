//! Messages without what is random by nature: revisions become numbers, durations are rounded, lists sorted.

/// The message, the same in every run.
pub(crate) fn normalise(message: &str) -> String {
    let message = revisions(message);
    let message = durations(&message);
    let message = lists(&message);
    let message = paths(&message);
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

/// Directories and addresses that were made for a run.
fn paths(message: &str) -> String {
    let words = message.split(' ').map(|word| {
        let quote = word.find('/').filter(|_| {
            word.contains("/tmp/") || word.contains("/oracle-") || word.contains("kustomization-")
        });
        if let Some(start) = quote {
            let tail = word
                .rfind('/')
                .filter(|last| *last > start)
                .map_or("", |last| &word[last..]);
            return format!("{}…{tail}", &word[..start]);
        }
        match word.find("127.0.0.1:") {
            Some(at) => {
                let digits = &word[at + "127.0.0.1:".len()..];
                let end = digits
                    .find(|char: char| !char.is_ascii_digit())
                    .unwrap_or(digits.len());
                format!("{}HOST{}", &word[..at], &digits[end..])
            }
            None => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
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
            normalise("Get \"http://127.0.0.1:41/1.tar.gz\": refused"),
            "Get \"http://HOST/1.tar.gz\": refused"
        );
    }
}
