//! Reports are HTML by the standard's own rules of parsing, and their ids and references agree.

use std::collections::BTreeSet;

use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// Parses a whole document; fails on the first thing that the standard calls a parse error.
pub fn parsed(html: &str) -> RcDom {
    let tree_builder = TreeBuilderOpts { exact_errors: true, ..TreeBuilderOpts::default() };
    let mut options = ParseOpts { tree_builder, ..ParseOpts::default() };
    options.tokenizer.exact_errors = true;
    let dom = parse_document(RcDom::default(), options).one(html);
    assert_eq!(*dom.errors.borrow(), Vec::<std::borrow::Cow<'static, str>>::new());
    dom
}

/// An element: its name, its attributes, and the names of those around it.
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub around: Vec<String>,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(of, _)| of == name).map(|(_, value)| value.as_str())
    }
}

pub fn elements(dom: &RcDom) -> Vec<Element> {
    let mut found = Vec::new();
    walk(&dom.document, &mut Vec::new(), &mut found);
    found
}

fn walk(node: &Handle, around: &mut Vec<String>, found: &mut Vec<Element>) {
    let named = if let NodeData::Element { name, attrs, .. } = &node.data {
        let attributes = attrs.borrow().iter().map(|one| (one.name.local.to_string(), one.value.to_string())).collect();
        found.push(Element { name: name.local.to_string(), attributes, around: around.clone() });
        around.push(name.local.to_string());
        true
    } else {
        false
    };
    node.children.borrow().iter().for_each(|child| walk(child, around, found));
    if named {
        around.pop();
    }
}

/// Checks a report: it parses without an error, ids are there once, and what refers to one finds it.
pub fn check(html: &str) -> Vec<Element> {
    assert!(html.starts_with("<!DOCTYPE html>"), "{}", &html[..100]);
    let elements = elements(&parsed(html));
    let mut ids = BTreeSet::new();
    for id in elements.iter().filter_map(|element| element.attribute("id")) {
        assert!(!id.is_empty() && !id.contains(char::is_whitespace) && ids.insert(id.to_owned()), "id {id}");
    }
    for element in &elements {
        for name in ["aria-labelledby", "aria-describedby"] {
            for id in element.attribute(name).into_iter().flat_map(str::split_whitespace) {
                assert!(ids.contains(id), "{} names {id}, which is not there", element.name);
            }
        }
        if let Some(to) = element.attribute("href").and_then(|to| to.strip_prefix('#')) {
            assert!(ids.contains(to), "a link to {to}, which is not there");
        }
        assert!(
            !["script", "iframe", "object", "embed", "form", "base", "img", "video"].contains(&element.name.as_str())
        );
        let runs = |(name, value): &&(String, String)| {
            name.starts_with("on") || value.trim_start().to_lowercase().starts_with("javascript:")
        };
        assert!(element.attributes.iter().find(runs).is_none(), "{} has {:?}", element.name, element.attributes);
        let loads =
            ["src", "srcset", "data", "poster", "background"].into_iter().find_map(|name| element.attribute(name));
        assert_eq!(loads, None);
        let to = element.attribute("href").unwrap_or("#");
        assert!(to.starts_with('#') || to == "data:,", "{} leads to {to}", element.name);
        match element.name.as_str() {
            "th" => assert!(["row", "col"].contains(&element.attribute("scope").unwrap_or_default())),
            "td" => assert!(element.around.ends_with(&["tbody".into(), "tr".into()]), "{:?}", element.around),
            "html" => assert_eq!(element.attribute("lang"), Some("en")),
            _ => {}
        }
    }
    let levels: Vec<u32> = elements.iter().filter_map(|one| one.name.strip_prefix('h')?.parse().ok()).collect();
    assert_eq!(levels.first(), Some(&1));
    assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    assert_eq!(elements.iter().filter(|one| ["main", "h1"].contains(&one.name.as_str())).count(), 2);
    elements
}

#[test]
fn the_check_finds_mistakes() {
    let page = |body: &str| {
        format!(
            "<!DOCTYPE html><html lang=\"en\"><head><title>t</title></head><body><main><h1>t</h1>{body}</main></body></html>"
        )
    };
    check(&page("<p>fine</p>"));
    for wrong in [
        "<p></div>",
        "<p id=\"a\"></p><p id=\"a\"></p>",
        "<a href=\"#none\">x</a>",
        "<script></script>",
        "<h3>deep</h3>",
        "<p onclick=\"x\">",
        "<p a=1 a=2></p>",
        "<table><td></table>",
        "<p>&nosuch;x</p>",
    ] {
        let html = page(wrong);
        assert!(std::panic::catch_unwind(|| check(&html)).is_err(), "{wrong}");
    }
}
