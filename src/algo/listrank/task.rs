//! Implements [`Algorithm`] for the job table `[listrank]`.

use crate::algo::listrank::output::{ListRankDetails, ListRankOutput};
use crate::algo::listrank::{ListRank, cost, driver, figures, gpu, on_gpu, options, verify};
use crate::algo::searches::sentences::counted;
use crate::algo::{
    Algorithm, Answer, Cost, ListResults, ListSize, RankResources, Run, StoredUnits, TrialOf, TrialRef, Verdict,
};
use crate::chart::Figure;
use crate::error::Result;
use crate::gpu::ProgramSource;
use crate::jobfile::{AnyKey, Diagnostics, Section};
use crate::list::List;
use crate::results::about::About;

impl Algorithm for ListRank {
    const NAME: &'static str = "listrank";
    const ABOUT: &'static str = "ranks the elements of a linked list";
    const KEYS: &'static [&'static dyn AnyKey] = options::KEYS;
    const COLUMNS: &'static [About] = super::output::COLUMNS;
    const PROGRAMS: &'static [&'static ProgramSource] = &[&gpu::PROGRAM];

    type Input = List;
    type Output = ListRankOutput;
    type Details = ListRankDetails;

    fn parse(table: &Section<'_>, diagnostics: &mut Diagnostics) -> Option<ListRank> {
        let method = options::METHOD.read(table, diagnostics);
        let order = options::ORDER.read(table, diagnostics);
        Some(ListRank { method: method?, order: order? })
    }

    fn units(&self, length: u64) -> u64 {
        length
    }

    fn least_gpu_memory(&self, list: &ListSize, _: usize) -> Option<u64> {
        gpu::least_bytes(list.length, on_gpu::method(self)?)
    }

    fn cost(&self, list: &ListSize, resources: &RankResources) -> Cost {
        cost::of(self, list.length, list.reading, resources)
    }

    fn run(&self, list: &List, run: &mut Run<'_>) -> Result<TrialOf<ListRank>> {
        driver::rank(self, list, run)
    }

    fn verify(
        &self,
        results: &ListResults<'_>,
        (output, _): TrialRef<'_, Self>,
        verdict: &mut Verdict<'_>,
    ) -> Result<()> {
        verify::verify(self, results, output, verdict)
    }

    fn verify_units(&self, units: &StoredUnits<'_>, _: Option<&ListRankOutput>) -> Result<String> {
        Ok(format!("{} elements", units.total))
    }

    fn answer(&self, output: &ListRankOutput, _: Option<&ListRankDetails>) -> Answer {
        let head = output.head.map_or_else(|| "none".into(), |head| head.to_string());
        let more = format!("checksum {}  ranked", output.checksum);
        Answer { main: format!("head {head}"), more, block: None }
    }

    fn sentences(output: &ListRankOutput) -> Vec<String> {
        let elements = counted(output.length, "element", "elements");
        let begins = output.head.map(|head| format!("The list of {elements} begins at element {head}."));
        begins.into_iter().collect()
    }

    fn figures(_: &ListRankOutput, details: &ListRankDetails) -> Vec<Figure> {
        figures::figures(details)
    }
}
