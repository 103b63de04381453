//! Places of fields, as findings underline them.

use firstpass_yaml::PathSegment::{Index, Key};
use firstpass_yaml::{Mark, PathSegment, Span, locate, locate_nearest};

const TEXT: &str = "\
# a comment
apiVersion: v1
kind: List
---
metadata: &m
  name: \"a b\"   # quoted
  labels: {app: x, 'tier': &t one}
spec:
  - name: ä
    run: |
      first
      second
  - *t
  - <<: *m
    more: []
";

/// Line, column, length.
type Flat = (u32, u32, u32);

#[track_caller]
fn at(path: &[PathSegment<'_>]) -> (Option<Flat>, Flat) {
    let found = locate(TEXT, 1, path).unwrap();
    let flat = |span: Span| (span.start.line, span.start.column, span.length);
    (found.key.map(flat), flat(found.value))
}

#[test]
fn keys_and_values_are_found() {
    assert_eq!(at(&[]), (None, (5, 1, 8)));
    assert_eq!(at(&[Key("metadata"), Key("name")]), (Some((6, 3, 4)), (6, 9, 5)));
    assert_eq!(
        at(&[Key("metadata"), Key("labels"), Key("app")]),
        (Some((7, 12, 3)), (7, 17, 1))
    );
    assert_eq!(at(&[Key("spec"), Index(0)]), (None, (9, 5, 4)));
    assert_eq!(
        at(&[Key("spec"), Index(0), Key("name")]),
        (Some((9, 5, 4)), (9, 11, 1))
    );
    assert_eq!(
        at(&[Key("spec"), Index(0), Key("run")]),
        (Some((10, 5, 3)), (10, 10, 1))
    );
    assert_eq!(
        at(&[Key("spec"), Index(2), Key("more")]),
        (Some((15, 5, 4)), (15, 11, 1))
    );
}

#[test]
fn what_came_through_an_alias_is_found_at_its_anchor() {
    assert_eq!(at(&[Key("spec"), Index(1)]).1.0, 7);
    assert_eq!(
        at(&[Key("spec"), Index(2), Key("name")]),
        (Some((6, 3, 4)), (6, 9, 5))
    );
}

#[test]
fn what_is_missing_has_a_nearest_place() {
    assert_eq!(locate(TEXT, 1, &[Key("spec"), Key("x")]), None);
    assert_eq!(locate(TEXT, 7, &[]), None);
    let nearest = locate_nearest(TEXT, 1, &[Key("metadata"), Key("namespace")]).unwrap();
    assert_eq!(nearest.depth, 1);
    assert_eq!(nearest.key.unwrap().start, Mark { line: 5, column: 1 });
}
