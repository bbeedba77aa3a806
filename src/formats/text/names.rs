//! Finds the id columns by the column names in a header line.

use crate::formats::{Columns, Part, UseOfDirection};

/// The 0-based columns of the two ends and the weight of an edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::formats) struct EdgeColumns {
    pub u: usize,
    pub v: usize,
    pub weight: Option<usize>,
}

/// Column names that identify the two ends of an edge, in the form that [`bare`] returns. If a header line contains
/// several such pairs (`source,target,start,end`), the pair that comes first in this list is used.
const PAIRS: [(&[&str], &[&str]); 9] = [
    (&["source", "src"], &["target", "tgt", "destination", "dest", "dst"]),
    (&["from"], &["to"]),
    (&["origin", "orig"], &["destination", "dest", "dst"]),
    (&["start"], &["end"]),
    (&["u"], &["v"]),
    (&["i"], &["j"]),
    (&["row"], &["col", "column"]),
    (&["tail"], &["head"]),
    (
        &["follower", "citing", "sender", "caller"],
        &["followee", "followed", "cited", "receiver", "recipient", "callee"],
    ),
];

/// Names of the columns of a knowledge graph: the source of an edge, its relation, and its target.
const TRIPLES: [[&[&str]; 3]; 2] =
    [[&["head", "h"], RELATIONS, &["tail", "t"]], [&["subject", "subj", "s"], RELATIONS, &["object", "obj", "o"]]];

const RELATIONS: &[&str] = &["relation", "rel", "r", "relationship", "predicate", "pred", "p", "property"];

/// Column names that identify an end of an edge if a digit or letter follows (`node1`, `node2`; `id_a`, `id_b`).
const NUMBERED: [&str; 13] =
    ["", "v", "n", "u", "i", "user", "person", "author", "actor", "entity", "protein", "gene", "member"];

/// Digits and letters that follow the names in [`NUMBERED`].
const NUMBERS: [(&str, &str); 3] = [("1", "2"), ("0", "1"), ("a", "b")];

const WEIGHTS: [&str; 4] = ["weight", "weights", "w", "wt"];

/// Names of columns that are neither ends of edges nor weights.
const OTHERS: [&str; 9] = ["", "value", "time", "timestamp", "date", "year", "type", "label", "index"];

/// Words that may follow a name without changing its meaning (`source_id`, `FromNodeId`).
const KINDS: [&str; 6] = ["node", "vertex", "id", "ids", "idx", "index"];

/// Returns the columns that a header line names; `None` unless it identifies exactly two columns as ends.
pub(in crate::formats) fn columns(names: &[String]) -> Option<EdgeColumns> {
    let bare: Vec<String> = names.iter().map(|name| bare(name)).collect();
    let only = |wanted: &dyn Fn(&str) -> bool| {
        let mut found = (0..bare.len()).filter(|&at| wanted(&bare[at]));
        found.next().filter(|_| found.next().is_none())
    };
    let any = |wanted: &dyn Fn(&str) -> bool| bare.iter().any(|name| wanted(name));
    let weight = only(&|name| WEIGHTS.contains(&name));
    for triple in TRIPLES {
        if let [Some(u), Some(_), Some(v)] = triple.map(|known| only(&|name| known.contains(&name))) {
            return Some(EdgeColumns { u, v, weight });
        }
    }
    for (first, second) in PAIRS {
        let (is_first, is_second) = (|name: &str| first.contains(&name), |name: &str| second.contains(&name));
        if any(&is_first) && any(&is_second) {
            let (u, v) = (only(&is_first)?, only(&is_second)?);
            return Some(EdgeColumns { u, v, weight });
        }
    }
    let mut found = None;
    for kind in NUMBERED {
        for (one, two) in NUMBERS {
            let pair = only(&|name| is_numbered(name, kind, one)).zip(only(&|name| is_numbered(name, kind, two)));
            if let Some((u, v)) = pair {
                if found.is_some() {
                    return None;
                }
                found = Some(EdgeColumns { u, v, weight });
            }
        }
    }
    found
}

/// Returns the texts `(expected, remedy)` of an error message, if the direction of edges matters and [`columns`] found
/// the ends by the names tail and head. These names do not determine the direction: an arc is directed from its tail to
/// its head, but an edge of a knowledge graph is directed from its head to its tail.
pub(in crate::formats) fn open_direction(
    part: &Part,
    names: &[String],
    ends: EdgeColumns,
) -> Option<(&'static str, &'static str)> {
    let matters = part.text.columns == Columns::Auto && part.use_of_direction != UseOfDirection::Dropped;
    (matters && [ends.u, ends.v].map(|at| bare(&names[at])) == ["tail", "head"]).then_some(DIRECTION)
}

const DIRECTION: (&str, &str) = (
    "names that say where edges lead",
    "choose the columns in order: [input] columns = [\"tail\", \"head\"] if they lead from tail to head, as arcs do, or [\"head\", \"tail\"], \
     as in a knowledge graph (convert --columns)",
);

/// Returns the columns that the user chose by name. A name must equal one in the header line, or differ from exactly
/// one only in case.
pub(in crate::formats) fn chosen(wanted: &[String], names: &[String]) -> Option<EdgeColumns> {
    let find = |wanted: &String| {
        let all = |same: &dyn Fn(&String) -> bool| -> Vec<usize> {
            (0..names.len()).filter(|&at| same(&names[at])).collect()
        };
        let wanted = wanted.trim();
        let exact = all(&|name| name == wanted);
        let like = |name: &String| name.to_lowercase() == wanted.to_lowercase();
        let found = if exact.is_empty() { all(&like) } else { exact };
        (found.len() == 1).then(|| found[0])
    };
    let (u, v) = (find(wanted.first()?)?, find(wanted.get(1)?)?);
    let weight = match wanted.get(2) {
        Some(weight) => Some(find(weight)?),
        None => None,
    };
    Some(EdgeColumns { u, v, weight })
}

/// Returns true for the name of a column that is unlikely to contain an end of an edge.
pub(in crate::formats) fn is_no_end(name: &str) -> bool {
    let bare = bare(name);
    WEIGHTS.contains(&&*bare) || OTHERS.contains(&&*bare)
}

/// Returns a name in lower case, reduced to letters and digits. The text from the first bracket on, and trailing words
/// such as node or id, are removed.
fn bare(name: &str) -> String {
    let name = name.split(['(', '[']).next().unwrap_or_default();
    let letters: String = name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect();
    let stem = stem(&letters);
    if stem.is_empty() { letters } else { stem.to_owned() }
}

/// Returns a name without trailing words such as node or id (`source_node_id` has two).
fn stem(mut name: &str) -> &str {
    while let Some(stem) = KINDS.iter().find_map(|kind| name.strip_suffix(kind)) {
        name = stem;
    }
    name
}

/// Returns true if `bare` consists of `kind`, optional words such as node or id, and `number`: `user1`, `nodeid1`.
/// Returns false for `number` alone.
fn is_numbered(bare: &str, kind: &str, number: &str) -> bool {
    bare.strip_suffix(number).is_some_and(|name| !name.is_empty() && stem(name) == kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(heading: &str) -> Option<(usize, usize, Option<usize>)> {
        let names: Vec<String> = heading.split(',').map(str::to_owned).collect();
        columns(&names).map(|EdgeColumns { u, v, weight }| (u, v, weight))
    }

    #[test]
    fn names_that_people_write() {
        for (heading, want) in [
            ("source,target", (0, 1, None)),
            ("weight,source,target", (1, 2, Some(0))),
            ("Source,Target,Type,Id,Label,timeset,Weight", (0, 1, Some(6))),
            (",src,dst", (1, 2, None)),
            ("dst,src", (1, 0, None)),
            ("FromNodeId,ToNodeId", (0, 1, None)),
            ("from,to,start,end", (0, 1, None)),
            ("U,V,W", (0, 1, Some(2))),
            ("time,node1,node2", (1, 2, None)),
            ("id_1,id_2", (0, 1, None)),
            ("node_1,node_2", (0, 1, None)),
            ("node_id_a,node_id_b", (0, 1, None)),
            ("node1_id,node2_id", (0, 1, None)),
            ("v0,v1", (0, 1, None)),
            ("Source Node,Target Node", (0, 1, None)),
            ("source_vertex_id,target_vertex_id", (0, 1, None)),
            (":START_ID(Person),:END_ID(Person),:TYPE", (0, 1, None)),
            ("~id,~from,~to,~label", (1, 2, None)),
            ("i,j,value", (0, 1, None)),
            ("origin,destination", (0, 1, None)),
            ("label,follower,followee", (1, 2, None)),
            ("head,relation,tail", (0, 2, None)),
            ("tail,head,relation_id", (1, 0, None)),
            ("h,r,t", (0, 2, None)),
            ("subject,predicate,object,weight", (0, 2, Some(3))),
            ("head,tail", (1, 0, None)),
        ] {
            assert_eq!(of(heading), Some(want), "{heading}");
        }
    }

    #[test]
    fn names_that_say_nothing() {
        for heading in [
            "",
            "a,b",
            "x,y",
            "0,1",
            ",0,1",
            "source",
            "source,weight",
            "node,community",
            "source,src,target",
            "id,id",
            "x1,x2,y1,y2",
            "weight1,weight2",
            "node1,node2,user1,user2",
            "1,2",
            "to,to,from",
            "name,age,height",
        ] {
            assert_eq!(of(heading), None, "{heading}");
        }
    }

    #[test]
    fn chosen_names() {
        let names: Vec<String> = ["Who", "whom", "who", "n", "n"].map(str::to_owned).to_vec();
        let of = |wanted: &[&str]| {
            let wanted: Vec<String> = wanted.iter().map(|&name| name.to_owned()).collect();
            chosen(&wanted, &names).map(|EdgeColumns { u, v, weight }| (u, v, weight))
        };
        assert_eq!(of(&["who", "WHOM"]), Some((2, 1, None)));
        assert_eq!(of(&["Who", "who", "whom"]), Some((0, 2, Some(1))));
        for bad in [&["WHO", "whom"][..], &["n", "whom"], &["who", "none"], &["who", "whom", "none"]] {
            assert_eq!(of(bad), None, "{bad:?}");
        }
    }
}
