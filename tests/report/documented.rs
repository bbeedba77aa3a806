//! The pictures of docs/performance.md are those of its figures.

use std::path::Path;

use gpugraph::internals::chart::draw;

use crate::performance::pictures;

#[test]
fn pictures_of_the_documentation_show_its_figures() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let text = std::fs::read_to_string(docs.join("performance.md")).expect("the page");
    for picture in pictures() {
        let file = std::fs::read_to_string(docs.join("performance").join(picture.file)).unwrap_or_default();
        let again = "make it again: cargo run --example performance -- docs/performance";
        assert!(file == draw::file(&picture.figure), "{} is not of these figures: {again}", picture.file);
        assert!(text.contains(&format!("](performance/{})", picture.file)), "no page shows {}", picture.file);
        // Each figure stands in the text as well; small speed-ups and ideals are no figures of their own.
        let table = picture.figure.table();
        for cell in table.rows.iter().flat_map(|row| &row[1..]).map(|cell| cell.field()) {
            let value: f64 = cell.parse().expect("a number");
            let shown = if value >= 1e9 { value / 1e9 } else { value };
            let whole = shown.fract() == 0.0 && shown < 10.0;
            let words = [format!("{shown}"), format!("{shown:.1}"), format!("{shown:.2}"), group(shown)];
            assert!(
                whole || words.iter().any(|word| text.contains(word)),
                "{shown} of {} is not in the text",
                picture.file
            );
        }
    }
}

fn group(value: f64) -> String {
    gpugraph::internals::chart::unit::group(&format!("{value:.0}"))
}
