//! The table `[listrank]`: what a job may ask for, and what it is told.

use crate::algo::listrank::rounds::Round;
use crate::algo::listrank::{figures, gpu, on_gpu};
use crate::algo::searches::sentences::counted;
use crate::algo::{
    Algorithm, Answer, Cost, Crew, InputKind, ListResults, ListTask, On, Outcome, Run, StoredUnits, Task, Verdict,
    recall,
};
use crate::chart::Figure;
use crate::error::{Error, Result};
use crate::gpu::ProgramSource;
use crate::jobfile::{Diagnostics, Section};
use crate::list::List;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::sync::Arc;

/// Programs that list ranking launches on a GPU.
static PROGRAMS: [&ProgramSource; 1] = [&gpu::PROGRAM];

/// List ranking, as the registry has it.
pub struct ListRank;

impl Algorithm for ListRank {
    fn name(&self) -> &'static str {
        "listrank"
    }

    fn input(&self) -> InputKind {
        InputKind::List
    }

    fn keys(&self) -> &'static [&'static str] {
        &["method", "order"]
    }

    fn parse(&self, table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<Arc<dyn Task>> {
        let methods = Method::ALL.map(|method| (method.name(), method));
        let orders = [("successors", Order::Successors), ("from-head", Order::FromHead)];
        let method = table.get("method").map_or(Some(Method::Auto), |field| field.choice(&methods, diagnostics));
        let order = table.get("order").map_or(Some(Order::Successors), |field| field.choice(&orders, diagnostics));
        Some(Arc::new(Table { method: method?, order: order? }))
    }

    fn figures(&self, result: &Value) -> Vec<Figure> {
        figures::of_result(result)
    }

    fn sentences(&self, result: &Value) -> Vec<String> {
        let Some(length) = result["length"].as_u64() else { return Vec::new() };
        vec![format!("The list of {} begins at element {}.", counted(length, "element", "elements"), result["head"])]
    }

    fn recall(&self, table: &Value) -> Option<Arc<dyn Task>> {
        recall::<Table>(table)
    }
}

/// `[listrank]`: how to rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Table {
    /// The method. Ranks are the same by all.
    pub method: Method,
    /// The end that ranks are counted from.
    pub order: Order,
}

/// A method of ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The fastest for length and device.
    Auto,
    /// One thread follows the list.
    Serial,
    /// Pointer jumping (Wyllie 1979).
    Wyllie,
    /// Sublists between splitters, and a list of those (Helman and JáJá 1999; Wei and JáJá 2010).
    RulingSet,
}

impl Method {
    const ALL: [Method; 4] = [Method::Auto, Method::Serial, Method::Wyllie, Method::RulingSet];

    /// Returns the method that a CPU ranks a list of `length` elements by.
    pub fn on_cpu(self, length: u64) -> Method {
        // Below, starting threads takes longer than following the list.
        const FEW: u64 = 1 << 14;
        match self {
            Method::Auto if length < FEW => Method::Serial,
            Method::Auto => Method::RulingSet,
            named => named,
        }
    }

    /// Returns its name in job files and reports.
    pub fn name(self) -> &'static str {
        match self {
            Method::Auto => "auto",
            Method::Serial => "serial",
            Method::Wyllie => "wyllie",
            Method::RulingSet => "ruling-set",
        }
    }
}

/// The end of the list that ranks are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// A rank is the number of elements behind: 0 at the tail.
    Successors,
    /// A rank is the number of elements before: 0 at the head.
    FromHead,
}

/// The result: the fields of `results.listrank` that do not depend on how it was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Elements.
    pub length: u64,
    /// The element that is nobody's successor; `None` in a list without elements.
    pub head: Option<u64>,
    /// Sum of `rank(i) * (i mod 1000003 + 1)` over all elements, modulo 2^64; of the ranks as they are written.
    pub checksum: u64,
}

impl Found {
    /// Reads a result as the manifest has it.
    ///
    /// # Errors
    /// [`Error::Validation`] for another one.
    pub fn of(value: &Value) -> Result<Found> {
        serde_json::from_value(value.clone())
            .map_err(|e| Error::Validation(format!("the manifest's result is none of list ranking: {e}")))
    }
}

/// How a list was ranked: more fields of `results.listrank`.
#[derive(Debug, Clone, Serialize)]
pub struct How {
    /// The method.
    pub method: &'static str,
    /// Bytes that ranking read from the disk and wrote to it, beside the list and the ranks.
    pub bytes: u64,
    /// Seconds of each phase.
    pub phases: Phases,
    /// The rounds of ranking: of several ranks, as rank 0 saw them; of a trial that was broken off, those since it went on.
    pub rounds: Vec<Round>,
}

/// Seconds of each phase of a trial.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Phases {
    /// Reading the list; on a GPU, into its memory.
    pub read: f64,
    /// Finding out that successors are those of a list, where that is not done while it is read.
    pub check: f64,
    /// Ranking.
    pub rank: f64,
    /// Copying ranks from a GPU to the host.
    pub fetch: f64,
}

/// Returns the outcome of a trial.
///
/// # Errors
/// None in practice: numbers can be written as JSON.
pub fn outcome(found: Found, how: How, seconds: f64) -> Result<Outcome> {
    let json = |e| Error::internal("note the result of list ranking", e);
    let found = serde_json::to_value(found).map_err(json)?;
    let how = serde_json::to_value(how).map_err(json)?;
    Ok(Outcome { found, how, seconds })
}

impl Task for Table {
    fn algorithm(&self) -> &'static dyn Algorithm {
        &ListRank
    }

    fn table(&self) -> Value {
        serde_json::json!({ "method": self.method, "order": self.order })
    }

    fn on(&self) -> On<'_> {
        On::List(self)
    }

    fn programs(&self) -> &'static [&'static ProgramSource] {
        &PROGRAMS
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&Value>) -> Result<String> {
        Ok(format!("{} elements", units.total))
    }

    fn answer(&self, found: &Value, _: &Value) -> Answer {
        let (head, checksum) = match Found::of(found) {
            Ok(found) => {
                (found.head.map_or_else(|| "none".into(), |head| head.to_string()), found.checksum.to_string())
            }
            Err(_) => ("?".into(), "?".into()),
        };
        Answer { main: format!("head {head}"), more: format!("checksum {checksum}  ranked"), block: None }
    }
}

impl ListTask for Table {
    fn least_gpu_memory(&self, length: u64) -> Option<u64> {
        gpu::least_bytes(length, on_gpu::method(self)?)
    }

    fn cost(&self, length: u64, reading: u64, crew: &Crew) -> Cost {
        super::cost::of(self, length, reading, crew)
    }

    fn run(&self, list: &List, run: &mut Run<'_>) -> Result<Outcome> {
        super::driver::rank(self, list, run)
    }

    fn verify(&self, results: &ListResults<'_>, found: &Value, verdict: &mut Verdict<'_>) -> Result<()> {
        match Found::of(found) {
            Ok(found) => super::verify::verify(self, results, &found, verdict),
            Err(e) => verdict.note("listrank", Err(e)),
        }
    }
}
