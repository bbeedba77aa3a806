//! Reports are HTML by the standard's own rules of parsing, and their ids and references agree.

use std::collections::BTreeSet;

use html5ever::tendril::TendrilSink;
use html5ever::tree_builder::TreeBuilderOpts;
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// Parses a whole document.
fn parsed(html: &str) -> RcDom {
    let tree_builder = TreeBuilderOpts { exact_errors: true, ..TreeBuilderOpts::default() };
    let mut options = ParseOpts { tree_builder, ..ParseOpts::default() };
    options.tokenizer.exact_errors = true;
    parse_document(RcDom::default(), options).one(html)
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
#[track_caller]
pub fn check(html: &str) -> Vec<Element> {
    let (elements, mistakes) = read(html);
    assert!(mistakes.is_empty(), "{mistakes:?}");
    elements
}

/// The elements of a report and what is wrong with it.
fn read(html: &str) -> (Vec<Element>, Vec<String>) {
    let dom = parsed(html);
    let elements = elements(&dom);
    let mut mistakes: Vec<String> = dom.errors.borrow().iter().map(|error| error.to_string()).collect();
    let mut hold = |holds: bool, otherwise: String| {
        if !holds {
            mistakes.push(otherwise);
        }
    };
    hold(html.starts_with("<!DOCTYPE html>"), "no <!DOCTYPE html>".into());
    let mut ids = BTreeSet::new();
    for id in elements.iter().filter_map(|element| element.attribute("id")) {
        hold(!id.is_empty() && !id.contains(char::is_whitespace) && ids.insert(id.to_owned()), format!("id {id}"));
    }
    for element in &elements {
        let name = element.name.as_str();
        for refers in ["aria-labelledby", "aria-describedby"] {
            for id in element.attribute(refers).into_iter().flat_map(str::split_whitespace) {
                hold(ids.contains(id), format!("{name} names {id}, which is not there"));
            }
        }
        if let Some(to) = element.attribute("href").and_then(|to| to.strip_prefix('#')) {
            hold(ids.contains(to), format!("a link to {to}, which is not there"));
        }
        let foreign = ["script", "iframe", "object", "embed", "form", "base", "img", "video"];
        hold(!foreign.contains(&name), format!("{name} has no place in a report"));
        for (attribute, value) in &element.attributes {
            let runs = attribute.starts_with("on") || value.trim_start().to_lowercase().starts_with("javascript:");
            let loads = ["src", "srcset", "data", "poster", "background"].contains(&attribute.as_str());
            hold(!runs && !loads, format!("{name} has {attribute}={value}"));
        }
        let to = element.attribute("href").unwrap_or("#");
        hold(to.starts_with('#') || to == "data:,", format!("{name} leads to {to}"));
        let stands = match name {
            "th" => ["row", "col"].contains(&element.attribute("scope").unwrap_or_default()),
            "td" => element.around.ends_with(&["tbody".into(), "tr".into()]),
            "html" => element.attribute("lang") == Some("en"),
            _ => true,
        };
        hold(stands, format!("{name} in {:?} with {:?}", element.around, element.attributes));
    }
    let levels: Vec<u32> = elements.iter().filter_map(|one| one.name.strip_prefix('h')?.parse().ok()).collect();
    let deepens = levels.windows(2).all(|pair| pair[1] <= pair[0] + 1);
    hold(levels.first() == Some(&1) && deepens, format!("headings {levels:?}"));
    let main = elements.iter().filter(|one| ["main", "h1"].contains(&one.name.as_str())).count();
    hold(main == 2, format!("{main} of main and h1, not 2"));
    (elements, mistakes)
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
        assert_ne!(read(&page(wrong)).1, Vec::<String>::new(), "{wrong}");
    }
}
