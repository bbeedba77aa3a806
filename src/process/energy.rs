//! Energy use of the CPUs, from their RAPL counters, which Linux exposes as files.

use std::fs;
use std::path::{Path, PathBuf};

/// Folder in which Linux exposes the energy counters.
const COUNTERS: &str = "/sys/class/powercap";

/// Energy counters of all CPU packages of this machine.
pub struct CpuMeter(Vec<PathBuf>);

/// Values of all energy counters at one moment, in microjoules.
pub struct Reading(Vec<u64>);

impl CpuMeter {
    /// Finds the energy counters of this machine's CPUs.
    ///
    /// # Errors
    /// A message that says why the counters can't be read.
    pub fn open() -> Result<CpuMeter, String> {
        CpuMeter::below(Path::new(COUNTERS))
    }

    fn below(folder: &Path) -> Result<CpuMeter, String> {
        let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        // Names of counters for a domain within a package have a second colon.
        let is_package = |name: &str| name.contains("rapl:") && name.matches(':').count() == 1;
        let packages = entries.flatten().filter(|entry| entry.file_name().to_str().is_some_and(is_package));
        let mut packages: Vec<PathBuf> = packages.map(|entry| entry.path()).collect();
        packages.sort();
        let meter = CpuMeter(packages);
        match meter.read() {
            Ok(Reading(counters)) if counters.is_empty() => Err(format!("{}: no counters", folder.display())),
            Ok(_) => Ok(meter),
            Err(e) => Err(e),
        }
    }

    /// Reads all energy counters of this machine's CPUs.
    ///
    /// # Errors
    /// A message that says why the counters can't be read.
    pub fn read(&self) -> Result<Reading, String> {
        self.0.iter().map(|package| number(&package.join("energy_uj"))).collect::<Result<_, _>>().map(Reading)
    }

    /// Returns the energy used since the reading `before`, in joules. The result is correct if each counter has
    /// wrapped around at most once.
    ///
    /// # Errors
    /// A message that says why the counters can't be read.
    pub fn joules_since(&self, before: &Reading) -> Result<f64, String> {
        let now = self.read()?;
        let mut joules = 0.0;
        for (package, (&now, &before)) in self.0.iter().zip(now.0.iter().zip(&before.0)) {
            let round = if now < before { number(&package.join("max_energy_range_uj"))? } else { 0 };
            joules += (now + round - before) as f64 / 1e6;
        }
        Ok(joules)
    }
}

fn number(path: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    text.trim().parse().map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_added_up_and_counters_go_round() {
        let folder = tempfile::tempdir().unwrap();
        let set = |package: &str, energy: u64| {
            let package = folder.path().join(package);
            fs::create_dir_all(&package).unwrap();
            fs::write(package.join("energy_uj"), format!("{energy}\n")).unwrap();
            fs::write(package.join("max_energy_range_uj"), "10000000\n").unwrap();
        };
        assert!(CpuMeter::below(folder.path()).is_err_and(|why| why.contains("no counters")));
        set("intel-rapl:0", 1_000_000);
        set("intel-rapl:1", 9_000_000);
        set("intel-rapl:0:0", 5);
        let meter = CpuMeter::below(folder.path()).unwrap();
        let before = meter.read().unwrap();
        set("intel-rapl:0", 3_500_000);
        set("intel-rapl:1", 500_000);
        assert!((meter.joules_since(&before).unwrap() - 4.0).abs() < 1e-9);
        fs::remove_file(folder.path().join("intel-rapl:1/energy_uj")).unwrap();
        assert!(meter.joules_since(&before).is_err());
    }
}
