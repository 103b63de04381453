//! What the embedded files say.

use firstpass_knowledge::Knowledge;

#[test]
fn every_embedded_file_is_read() {
    let all = Knowledge::builtin();
    assert!(all.chart("cert-manager", Some("v1.17.x")).is_some());
}
