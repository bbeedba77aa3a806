//! generate and convert, by the real binary: what they refuse, what they say, and what they leave.

mod support;

use std::fs;

use support::Place;

#[test]
fn a_folder_as_output_is_called_one() {
    let place = Place::new();
    place.write("a.txt", "0 1\n");
    fs::create_dir(place.path("folder")).unwrap();
    for line in [
        &["convert", "a.txt", "folder"][..],
        &["generate", "uniform", "--scale", "4", "-o", "folder"],
        &["generate", "product", "none.txt", "none.txt", "-o", "folder"],
    ] {
        let ran = place.gpugraph(line).expect(2);
        assert!(ran.error().contains("folder: expected a file to write, found a folder"), "{}", ran.err);
    }
}
