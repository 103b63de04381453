//! Virtual times as people read them, in sentences and in tables.

/// Virtual seconds as people read them: `12.5s`, `4m05s`, `1h00m`: two units at most, since nobody acts on the third.
pub fn duration_text(seconds: f64) -> String {
    if seconds < 60.0 {
        return format!("{seconds:.1}s");
    }
    let whole = seconds.round();
    let (minutes, rest) = ((whole / 60.0).floor(), whole % 60.0);
    if minutes < 60.0 {
        return format!("{minutes}m{rest:02}s");
    }
    format!("{}h{:02}m", (minutes / 60.0).floor(), minutes % 60.0)
}

#[cfg(test)]
mod tests {
    use super::duration_text;

    #[test]
    fn two_units_at_most() {
        assert_eq!(duration_text(0.75), "0.8s");
        assert_eq!(duration_text(59.94), "59.9s");
        assert_eq!(duration_text(245.2), "4m05s");
        assert_eq!(duration_text(43_200.0), "12h00m");
    }
}
