//! The text form of a plan.

use crate::job::plan::{Basis, Plan};
use crate::process::formatting::duration;
use crate::size::show;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (basis, at_most) = match self.basis {
            Basis::Expected => ("from input.expect; closer once the input is here", "at most "),
            Basis::Size => ("from the input's size; closer once ingest has run", "at most "),
            Basis::Degrees => ("from the degrees that ingest found", ""),
            Basis::Prepared => ("from a prepared graph", ""),
            Basis::Length => ("from the list's length", ""),
        };
        writeln!(f, "job      {} in {}", self.job, self.workdir.display())?;
        match self.elements {
            Some(elements) => writeln!(f, "input    {}, {elements} elements", self.input)?,
            None => {
                writeln!(f, "input    {}, {at_most}{} edges, ids under {}", self.input, self.edges, self.ids)?;
                let about = if at_most.is_empty() { "" } else { "about " };
                writeln!(f, "blocks   {about}{}, {} units", self.blocks, self.units)?;
            }
        }
        writeln!(f, "figures  {basis}: memory and disk at most, time likely from and to")?;
        match &self.gpu {
            Some(gpu) if self.device == "gpu" => writeln!(f, "device   {gpu}")?,
            Some(gpu) => writeln!(f, "device   CPU; {gpu} has too little memory for the tasks")?,
            None => writeln!(f, "device   CPU")?,
        }
        let many = self.ranks > 1;
        if many {
            let (ranks, nodes, threads) = (self.ranks, self.nodes, self.threads);
            let each = show(self.host_memory_node);
            let on = if nodes == 1 { "one node".into() } else { format!("{nodes} nodes") };
            writeln!(f, "ranks    {ranks} of {threads} threads on {on}, {each} of host memory a node")?;
            writeln!(f, "         below, memory is a rank's, disk and what ranks send are of all together")?;
        }
        // With several ranks there is a column for the bytes they send.
        let sent = |bytes: u64| if many { format!(" {:>12}", show(bytes)) } else { String::new() };
        let title = if many { format!(" {:>12}", "sent") } else { String::new() };
        writeln!(
            f,
            "\n{:11} {:>12} {:>12} {:>12}{title} {:>16}",
            "stage", "host memory", "GPU memory", "disk", "time"
        )?;
        for stage in &self.stages {
            let time = if stage.done { "done".into() } else { range(stage.time.seconds_range) };
            let (memory, gpu, disk) = (show(stage.host_memory), show(stage.gpu_memory), show(stage.disk));
            let sent = sent(stage.exchange);
            writeln!(f, "{:11} {memory:>12} {gpu:>12} {disk:>12}{sent} {time:>16}", stage.name)?;
        }
        let (memory, disk) = (show(self.host_memory), show(self.disk));
        let time = range(self.seconds_range);
        let (gpu, sent) = (show(self.gpu_memory), sent(self.exchange));
        writeln!(f, "{:11} {memory:>12} {gpu:>12} {disk:>12}{sent} {time:>16}", "in all")?;
        let (limit, free) = (show(self.host_memory_limit), show(self.disk_free));
        let gpu = self.gpu_memory_limit.map_or_else(String::new, show);
        writeln!(f, "{:11} {limit:>12} {gpu:>12} {free:>12}   {} threads", "limit", self.threads)?;
        writeln!(f, "{:11} of memory by [limits] (unless set, a part of what is free), of the disk what is free", "")?;
        if self.scratch > 0 {
            writeln!(f, "{:11} at most {} on each node", "job.scratch", show(self.scratch))?;
        }
        let needed = crate::memory::at_least(self.host_memory_needed);
        match self.basis.is_bound() {
            true => writeln!(f, "\nlimits.host_memory = {needed} is enough (upper bound)")?,
            false => writeln!(f, "\nlimits.host_memory = {needed} is the smallest that works")?,
        }
        if self.host_memory > self.host_memory_needed {
            writeln!(f, "With more, the job takes more and is faster: the table is for the limit above.")?;
        }
        self.maybe.iter().try_for_each(|what| writeln!(f, "warning: {what}"))
    }
}

/// Returns a range of times as text: `20 to 45 s`, `50 s to 1m40s`.
fn range(seconds: [f64; 2]) -> String {
    let [from, to] = seconds.map(duration);
    match (from.strip_suffix(" s"), to.ends_with(" s")) {
        (Some(number), true) => format!("{number} to {to}"),
        _ => format!("{from} to {to}"),
    }
}
