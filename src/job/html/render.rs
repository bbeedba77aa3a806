//! Renders a report as one HTML file that contains no scripts or fonts and needs no network access.

use super::page::{Page, PageSection, Severity};
use crate::chart::draw;
use crate::quote::{clip_to, printable_lines};
use maud::{DOCTYPE, Markup, PreEscaped};

const STYLE: &str = include_str!("style.css");
/// Content security policy: nothing is loaded and no script runs, no matter what the names in the report contain.
/// Only the inline style and the empty icon are allowed.
const POLICY: &str =
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";
/// Maximum length of a sentence in the report, in characters. Longer sentences are cut.
const SENTENCE: usize = 1000;

fn shown(text: &str) -> String {
    clip_to(text, SENTENCE)
}

/// Returns the report as HTML.
pub fn html(page: &Page) -> String {
    let title = shown(&page.title);
    let mood = match page.mood {
        Severity::Good => "good",
        Severity::Bad => "bad",
        Severity::Wait => "wait",
    };
    let text = maud::html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="referrer" content="no-referrer";
                title { (title) " – gpugraph" }
                link rel="icon" href="data:,";
                style { (PreEscaped(draw::STYLE)) (PreEscaped(STYLE)) }
            }
            body {
                a class="skip" href="#main" { "Skip to the report" }
                header {
                    h1 { (title) }
                    p { span class=(format!("state {mood}")) { (shown(&page.state)) } (shown(&page.lead)) }
                    @for notice in &page.notices { p class="notice bad" role="note" { (shown(notice)) } }
                    nav aria-label="Parts of the report" { ul {
                        @for section in &page.sections { li { a href=(format!("#{}", section.id)) { (shown(&section.title)) } } }
                        @if !page.log.is_empty() { li { a href="#log" { "Log" } } }
                    } }
                }
                main id="main" {
                    (cards(page))
                    @for part in &page.sections { (section(part)) }
                    @if !page.log.is_empty() {
                        section aria-labelledby="log" {
                            h2 id="log" { "Log" }
                            p class="muted" { "The last lines of run.log." }
                            details { summary { (page.log.len()) @if page.log.len() == 1 { " line" } @else { " lines" } } pre tabindex="0" { @for line in &page.log { (line) "\n" } } }
                        }
                    }
                }
                footer { (shown(&page.footer)) }
            }
        }
    };
    printable_lines(&text.into_string())
}

fn cards(page: &Page) -> Markup {
    let card = |id: &str, title: &str, is_wide: bool, contents: &Markup| {
        maud::html! { section class=[is_wide.then_some("wide")] aria-labelledby=(id) { h2 id=(id) { (title) } (contents) } }
    };
    let answers = maud::html! {
        @for (answer, more) in &page.answers { p class="answer" { (shown(answer)) } p class="muted" { (shown(more)) } }
    };
    let costs = maud::html! { dl { @for (name, value) in &page.costs { dt { (shown(name)) } dd { (shown(value)) } } } };
    let trust = maud::html! { ul { @for reason in &page.trust { li { (shown(reason)) } } } };
    maud::html! {
        @if !(page.answers.is_empty() && page.costs.is_empty() && page.trust.is_empty()) {
            div class="cards" {
                @if !page.answers.is_empty() { (card("answers", "Answer", false, &answers)) }
                @if !page.costs.is_empty() { (card("costs", "What it took", false, &costs)) }
                @if !page.trust.is_empty() { (card("trust", "Can it be trusted?", true, &trust)) }
            }
        }
    }
}

fn section(section: &PageSection) -> Markup {
    maud::html! {
        section aria-labelledby=(section.id) {
            h2 id=(section.id) { (shown(&section.title)) }
            @for text in &section.text { p { (shown(text)) } }
            @if let Some(facts) = &section.facts { (draw::facts(facts)) }
            @for (at, figure) in section.figures.iter().enumerate() {
                @if !figure.is_empty() { (draw::figure(figure, &format!("{}-{at}", section.id), section.numbers_of(at))) }
            }
            @for (caption, table) in &section.tables { (draw::numbers(caption, table)) }
        }
    }
}
