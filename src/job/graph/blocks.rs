//! The blocks of the graph: opened if an earlier run stored them, otherwise built.

use super::build::{self, Assignment, Edges};
use super::{degree_file, merge, transpose};
use crate::error::{At, Error, Result};
use crate::formats::{Input, InputCache, Weights};
use crate::graph::half::Half;
use crate::graph::layout::Layout;
use crate::graph::stored::{self, StoredBlock};
use crate::graph::weights::stored::{self as stored_weights, GraphWeights, StoredWeights};
use crate::job::plan::done::Done;
use crate::job::plan::{Plan, limits};
use crate::job::session::Session;
use crate::job::state::order_writer::Ordered;
use crate::job::state::record::Contents;
use crate::prepare::order;
use crate::prepare::partition::route;
use crate::prepare::prepared::{Graph, InputInfo, Rows, StoreInfo};
use crate::process::signals;

/// Opens the graph, or builds its missing blocks. `order` is given if it was just made. Collective.
///
/// # Errors
/// Errors of the stages `partition` and `sort`.
pub(super) fn open_or_build(
    session: &mut Session,
    input: &Input,
    cache: &InputCache<'_>,
    info: InputInfo,
    order: Option<Ordered>,
) -> Result<Graph> {
    session.gpu.meet();
    let folder = session.graph_folder();
    let content = info.content;
    let runs = match &order {
        Some(order) => order.order().runs.clone(),
        None => session.retry_until_visible(|| order::read_runs(&folder, content))?,
    };
    if info.direction.rows(runs.vertices()) >= 1 << 32 {
        let found = format!("{} vertices with edges", runs.vertices());
        let remedy = "leave direction out (directed = false in [input])";
        return Err(Error::input(
            &info.source,
            At::File,
            "up to 2^31 - 1 vertices, as direction is kept",
            found,
            remedy,
        ));
    }
    let layout = info.layout(&runs);
    let rows = Rows { folder: folder.clone(), key: content };
    let wanted = missing(session, &rows, Half::Lower, &layout, info.weights)?;
    let stored = session.manifest.found::<StoreInfo>("sort", content);
    if let Some(stored) = stored.filter(|stored| info.weights.is_none() || stored.weights == info.weights)
        && !wanted.contains(&true)
    {
        // The plan covers only the tasks that are left.
        let done = Done::of(&session.job, &session.manifest, Contents::of(&info))?;
        limits::refuse(&Plan::after(&session.job, &session.machine(), input, &info, (&runs, &layout), &done)?)?;
        return open(session, info, stored, &layout);
    }
    super::refuse_readers(session)?;
    let input = &match info.weights {
        Some(GraphWeights { kind, .. }) => input.clone().with_weights(Weights::Read(kind)),
        None => input.clone(),
    };
    let stored_already = log_stored(&wanted);
    if stored_already == 0 {
        // Rows derived from the earlier blocks are useless without these.
        [transpose::STAGE, merge::STAGE].into_iter().for_each(|stage| session.manifest.forget(stage));
    }
    // Degrees are known now, so the figures are no longer bounds.
    let done = Done::of(&session.job, &session.manifest, Contents::of(&info))?.without_blocks();
    let plan = Plan::after(&session.job, &session.machine(), input, &info, (&runs, &layout), &done)?;
    limits::refuse(&plan)?;
    if session.comm.leads() {
        limits::warn_of_disk(&plan);
    }
    if order.is_some() && stored_already == 0 {
        session.planned = plan.stages;
    }
    let order = match order {
        Some(order) => order,
        None => Ordered::new(session.retry_until_visible(|| order::read(&folder, content, &session.budget))?),
    };
    let builders = route::builders(&layout, &runs, &wanted, session.comm.ranks());
    let part = route::part(&layout, &runs, &builders, session.comm.rank());
    let mine = builders.iter().map(|&rank| rank == session.comm.rank() as u32).collect();
    let assignment = Assignment { layout: &layout, builders, mine, part };
    let edges = Edges { input, cache, info: &info };
    let (stored, resident) = build::partition_and_sort(session, &edges, order, &assignment)?;
    session.manifest.done("sort", content, session.figures_of("sort"), &stored)?;
    session.manifest.done("partition", content, session.figures_of("partition"), &())?;
    session.save_manifest()?;
    if let Some(catalogue) = resident {
        return Ok(Graph::new(folder, info, stored, catalogue));
    }
    let weights = info.weights;
    session.retry_until_visible(|| {
        Graph::with_layout(&session.job.workdir, info.clone(), stored.clone(), layout.clone(), weights)
    })
}

/// Opens a graph whose blocks an earlier run stored completely.
fn open(session: &mut Session, info: InputInfo, mut stored: StoreInfo, layout: &Layout) -> Result<Graph> {
    if session.needs_degrees() {
        degree_file::ensure(session, &Rows { folder: session.graph_folder(), key: info.content }, layout)?;
        stored.degrees = true;
        let figures = session.manifest.stages.get("sort").map(|stage| stage.figures.clone()).unwrap_or_default();
        session.manifest.done("sort", info.content, figures, &stored)?;
    }
    session.skipped("partition");
    session.skipped("sort");
    let weights = info.weights;
    session.retry_until_visible(|| {
        Graph::with_layout(&session.job.workdir, info.clone(), stored.clone(), layout.clone(), weights)
    })
}

/// Returns the number of blocks that an earlier run stored, which are those that are not `wanted`. Logs it unless it
/// is 0.
pub(super) fn log_stored(wanted: &[bool]) -> usize {
    let stored = wanted.iter().filter(|&&wanted| !wanted).count();
    if stored > 0 {
        tracing::info!(stored, blocks = wanted.len(), "blocks of an earlier run are kept");
    }
    stored
}

/// Returns for every block whether it must be built: it is missing, damaged, or lacks its weights if there are some.
/// Collective.
pub(super) fn missing(
    session: &Session,
    Rows { folder, key }: &Rows,
    half: Half,
    layout: &Layout,
    weights: Option<GraphWeights>,
) -> Result<Vec<bool>> {
    let listed = session.agreed(|| {
        let mut listed = stored::listed(folder, half, layout.blocks());
        if weights.is_some() {
            let with_weights = stored_weights::listed(folder, half, layout.blocks());
            listed.iter_mut().zip(with_weights).for_each(|(listed, with_weights)| *listed &= with_weights);
        }
        Ok(listed)
    })?;
    let whole = |b: usize| {
        let block =
            session.retry_until_visible(|| StoredBlock::open(folder, *key, half, layout, b)).and_then(|block| {
                block.verify()?;
                block.release();
                let entries = block.block().targets.len() as u64;
                weights.map_or(Ok(()), |weights| {
                    let open = || StoredWeights::open(folder, weights, half, layout, b, entries);
                    let weights = session.retry_until_visible(open)?;
                    weights.verify()?;
                    weights.release();
                    Ok(())
                })
            });
        match block {
            Err(e @ Error::Corrupt { .. }) => {
                tracing::warn!("{e}");
                false
            }
            other => other.is_ok(),
        }
    };
    // Checking blocks takes a while, so ranks share the work and check for signals in between.
    let mut missing = vec![0; layout.blocks()];
    for b in (session.comm.rank()..layout.blocks()).step_by(session.comm.ranks()) {
        signals::check()?;
        missing[b] = u64::from(!(listed[b] && whole(b)));
    }
    session.comm.all_sum(&mut missing);
    Ok(missing.iter().map(|&missing| missing > 0).collect())
}
