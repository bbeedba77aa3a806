//! A plan as people read it.

use super::figures::duration;
use super::plan::{Basis, Plan};
use crate::config::size::show;
use std::fmt;

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (basis, at_most) = match self.basis {
            Basis::Size => ("bounds from the input's size; closer once ingest has run", "at most "),
            Basis::Degrees => ("from the degrees that ingest found", ""),
            Basis::Prepared => ("from a prepared graph", ""),
        };
        writeln!(f, "job      {} in {}", self.job, self.workdir.display())?;
        writeln!(f, "input    {}, {at_most}{} edges, ids under {}", self.input, self.edges, self.ids)?;
        writeln!(
            f,
            "blocks   {}{}, {} units",
            if at_most.is_empty() { "" } else { "about " },
            self.blocks,
            self.units
        )?;
        writeln!(f, "figures  {basis}")?;
        match &self.gpu {
            Some(gpu) if self.device == "gpu" => writeln!(f, "device   {gpu}")?,
            Some(gpu) => writeln!(f, "device   processor; {gpu} has too little memory to count")?,
            None => writeln!(f, "device   processor")?,
        }
        writeln!(f, "\n{:11} {:>12} {:>12} {:>12} {:>10}", "stage", "host memory", "GPU memory", "disk", "time")?;
        for stage in &self.stages {
            let time = if stage.done { "done".into() } else { format!("~{}", duration(stage.seconds)) };
            let (memory, gpu, disk) = (show(stage.host_memory), show(stage.gpu_memory), show(stage.disk));
            writeln!(f, "{:11} {memory:>12} {gpu:>12} {disk:>12} {time:>10}", stage.name)?;
        }
        let (memory, disk) = (show(self.host_memory), show(self.disk));
        let time = format!("~{}", duration(self.seconds));
        writeln!(f, "{:11} {memory:>12} {:>12} {disk:>12} {time:>10}", "in all", show(self.gpu_memory))?;
        let (limit, free) = (show(self.host_memory_limit), show(self.disk_free));
        let gpu = self.gpu_memory_limit.map_or_else(String::new, show);
        writeln!(f, "{:11} {limit:>12} {gpu:>12} {free:>12}   {} threads", "there is", self.threads)?;
        writeln!(f, "\nlimits.host_memory = {} would do", crate::memory::at_least(self.host_memory_needed))?;
        self.maybe.iter().try_for_each(|what| writeln!(f, "warning: {what}"))
    }
}
