//! Verifies the columns of a depth-first search by the edges of the input, which is read again.
//!
//! The order of vertices is computed again (`searches::places`), and columns are read in this order (`columns`). The
//! values in the columns are checked against each other as in the run. Then every edge is checked, in any order
//! (`tree_check`): it must lead to a vertex that was reached before, or to a descendant. If an edge leads from `u` to a
//! descendant `w` that is not a child of `u`, the child of `u` above `w` must precede `w` in the order of vertices,
//! because the search continued with this child while both were unreached. If `w` is a child of `u`, the previous child
//! must precede `w`. Articulation points and bridges are computed by another method (`blocks`), and strongly connected
//! components are checked (`components`).

mod blocks;
mod columns;
mod components;
mod cycle;
mod repeats;
mod tree_check;

use super::Dfs;
use super::fault::DfsFault;
use super::output::{DfsDetails, DfsOutput};
use super::record::{DfsTree, NONE};
use super::validate::nested;
use crate::algo::searches::places::Places;
use crate::algo::{EdgeSource, Results};
use crate::error::{Error, Result};
use crate::graph::bins::Bins;
use crate::prepare::relabel::ISOLATED;
use crate::results::read::READING;
use blocks::BlockCheck;
use columns::DfsColumns;
use components::ComponentCheck;
use cycle::{CycleCheck, check_loops};
use repeats::Repeats;
use tree_check::TreeCheck;

/// Verifies the columns of a depth-first search by the edges. Returns a phrase for the report that says what was
/// checked.
///
/// # Errors
/// [`Error::Validation`] if the columns are not the result of the search that `table` requests; [`Error::Limit`]; read
/// errors; [`Error::Stopped`].
pub(super) fn verify(
    table: &Dfs,
    (found, details): (&DfsOutput, &DfsDetails),
    edges: &EdgeSource<'_>,
    results: &Results<'_>,
) -> Result<String> {
    let (budget, threads) = (results.budget, results.threads);
    let _reading = budget.reserve(edges.scratch_bytes(threads).max(READING), "reading edges and results again")?;
    let places = Places::new(edges, results)?;
    let mut columns = DfsColumns { places: &places, results, own: None };
    let source = match table.source {
        None => None,
        Some(source) => {
            let row = places.ids.row_of(source).ok_or_else(|| wrong("the source is not a vertex of the input"))?;
            let number = places.ids.number(row) as i64;
            match columns.place(number, true) {
                None => {
                    columns.own = Some(row);
                    return check_isolated(&columns, number, found, edges);
                }
                place => place,
            }
        }
    };
    let tree = read(&columns, results)?;
    let name = |v: u32| places.name(v);
    let as_error = |fault: DfsFault| fault.error(&name);
    let (mut numbers, trees) = nested(&tree, source, budget)?.map_err(as_error)?;
    // The tree contains the same preorder numbers. With a second copy, verification would take more memory than the
    // run.
    numbers.pre = budget.zeroed(0, "preorder to validate")?;
    let (mut depth, mut depths) = (0, Bins::default());
    for of in numbers.order[..tree.reached as usize].iter().map(|&v| tree.depth(v)) {
        depth = depth.max(of);
        depths.add(of, 1);
    }
    let figures = (u64::from(tree.reached), u64::from(trees), u64::from(depth));
    if figures != (found.reached, found.trees, found.max_depth) {
        let job = (found.reached, found.trees, found.max_depth);
        return Err(wrong(&format!("(reached, trees, max_depth) {figures:?} by the columns, the job reports {job:?}")));
    }
    if details.depths.as_ref() != Some(&depths.finish()) {
        return Err(wrong("the reported vertices by depth do not match the column of depths"));
    }
    let mut check = TreeCheck::new(&tree, &numbers, results.info.direction, budget)?;
    check.blocks = found.articulation.as_ref().map(|_| BlockCheck::read(&columns, &tree, budget)).transpose()?;
    if table.multigraph {
        check.repeats = Some(Repeats::new(edges, results.info, &tree, budget)?);
    }
    let components = found.strong.as_ref().map(|strong| ComponentCheck::read(&columns, &tree, strong, budget));
    check.components = components.transpose()?;
    check.all(edges, &places, threads)?.map_err(as_error)?;
    check.check_all_seen(threads)?.map_err(as_error)?;
    let mut more = String::new();
    if let (Some(blocks), Some(articulation)) = (check.blocks.take(), &found.articulation) {
        more += &blocks.compare(&tree, articulation, check.repeats.as_ref(), &name)?;
    }
    if let (Some(components), Some(strong)) = (check.components.take(), &found.strong) {
        more += &components.compare(&tree, &numbers, (found, strong), &name, budget)?;
        let of_rows = places.of_rows()?;
        // In a forest, a self-loop at a vertex without other edges counts as well.
        let counts = |row: u64| match of_rows.get(row as usize) {
            Some(&place) if place != ISOLATED => tree.parent(place) != NONE,
            _ => source.is_none(),
        };
        check_loops(strong, edges, (&places, results), &counts)?;
    }
    let reached = tree.reached;
    Ok(format!(
        "holds against the edges of {}: {reached} vertices, each reached from the first that could{more}",
        edges.name()
    ))
}

fn wrong(what: &str) -> Error {
    Error::Validation(format!("depth-first search: {what}"))
}

/// Verifies the columns for a source without edges, which reaches only itself.
fn check_isolated(columns: &DfsColumns<'_>, source: i64, found: &DfsOutput, edges: &EdgeSource<'_>) -> Result<String> {
    let mut names = vec![("parent", source), ("preorder", 0), ("postorder", 0), ("depth", 0)];
    if found.articulation.is_some() {
        names.extend([("articulation", 0), ("bridge", 0)]);
    }
    if let Some(strong) = &found.strong {
        names.push(("component", source));
        if strong.cycle_length == Some(0) {
            names.push(("topological", 0));
        }
        CycleCheck::read(columns, strong, columns.results.budget)?;
        check_loops(strong, edges, (columns.places, columns.results), &|row| Some(row) == columns.own)?;
    }
    names.into_iter().try_for_each(|(name, own)| columns.each(name, own, |_, value| value == -1))?;
    let is_alone = (found.trees, found.reached, found.max_depth) == (1, 1, 0)
        && found.articulation.as_ref().is_none_or(|found| (found.articulation_points, found.bridges) == (0, 0))
        && found.strong.as_ref().is_none_or(|found| (found.components, found.largest_component) == (1, 1));
    if is_alone {
        Ok("the source has no edge".into())
    } else {
        Err(wrong("the source has no edge, but the results say that it reached others"))
    }
}

/// Reads the columns of a depth-first tree into records of vertices, in the order of vertices.
fn read(columns: &DfsColumns<'_>, results: &Results<'_>) -> Result<DfsTree> {
    let mut tree = DfsTree::new(columns.places.vertices() as usize, results.budget)?;
    let mut reached = 0;
    // A vertex that was not reached has the value -1 in all columns.
    let lacks = |numbers: &[u32], v: u32| numbers[4 * v as usize + 1] == NONE;
    // The preorder comes first, because it shows whether a vertex was reached.
    for (number, name) in [(1, "preorder"), (0, "parent"), (2, "postorder"), (3, "depth")] {
        let numbers = tree.numbers_mut();
        columns.each(name, -1, |v, value| {
            let number_of = match value {
                -1 if number == 0 && !lacks(numbers, v) => columns.place(-1, true).or(Some(NONE)),
                -1 => Some(NONE),
                _ if number != 1 && lacks(numbers, v) => None,
                parent if number == 0 => columns.place(parent, false),
                number_of => u32::try_from(number_of).ok().filter(|&number_of| number_of != NONE),
            };
            reached += u32::from(number == 0 && number_of != Some(NONE));
            numbers[4 * v as usize + number] = number_of.unwrap_or(NONE);
            number_of.is_some()
        })?;
    }
    (tree.reached, tree.left) = (reached, reached);
    Ok(tree)
}
