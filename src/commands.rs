//! The commands that make and change edge lists. They work on files alone, without a job.

use crate::cli::{ConvertArgs, GenerateArgs, GenerateKind, OutputArgs, ProductArgs, RandomArgs};
use crate::convert::{self, Converted};
use crate::error::{Error, Result};
use crate::formats::{Format, Input, Watch};
use crate::generate::{self, Generator, Product};
use crate::job::progress::{Progress, StageProgress, Unit};
use crate::job::session::{Watched, threads};
use crate::stdout;
use std::path::Path;
use std::time::Duration;

/// `gpugraph generate`: writes the file that the arguments name.
///
/// # Errors
/// [`Error::Usage`] for parameters out of range, [`Error::Input`] for factors that can't be read, those of the disk.
pub fn generate(args: &GenerateArgs) -> Result<()> {
    let (GenerateKind::Kronecker(RandomArgs { output, .. })
    | GenerateKind::Uniform(RandomArgs { output, .. })
    | GenerateKind::Product(ProductArgs { output, .. })) = &args.kind;
    convert::writable(&output.output)?;
    let generator = match &args.kind {
        GenerateKind::Kronecker(r) => Generator::kronecker(r.scale, r.edge_factor, r.seed)?,
        GenerateKind::Uniform(r) => Generator::uniform(r.scale, r.edge_factor, r.seed)?,
        GenerateKind::Product(product) => product_of(product)?,
    };
    write(generator, output)
}

fn product_of(args: &ProductArgs) -> Result<Generator> {
    let format = format_named(args.input_format.as_deref(), "--input-format")?;
    let factor = |path: &Path| Input::open(&[path.to_owned()], format);
    let product = shown("reading", 0, |watch, _| Product::read(&factor(&args.a)?, &factor(&args.b)?, watch))?;
    Ok(Generator::Product(product))
}

fn write(generator: Generator, output: &OutputArgs) -> Result<()> {
    let format: Format = format_named(Some(&output.format), "--format")?.unwrap_or(Format::U32);
    let total = Input::generated(generator.clone()).bytes();
    let done = shown("generate", total, |watch, _| {
        generate::write(generator, &output.output, format, threads(output.threads), watch)
    })?;
    tell(&output.output, done);
    Ok(())
}

/// `gpugraph convert`: from any format to any other.
///
/// # Errors
/// [`Error::Usage`] for an ending that says no format, [`Error::Input`], those of the disk.
pub fn convert(args: &ConvertArgs) -> Result<()> {
    let input = Input::open(std::slice::from_ref(&args.input), format_named(args.from.as_deref(), "--from")?)?;
    convert::writable(&args.output)?;
    let format = match format_named(args.to.as_deref(), "--to")? {
        Some(format) => format,
        None => Format::by_ending(&args.output).ok_or_else(|| {
            Error::Usage(format!("{}: its ending is of no known format; name one with --to", args.output.display()))
        })?,
    };
    let done = shown("convert", input.bytes(), |watch, _| {
        warn_of_weights(&input, format);
        convert::convert(&input, &args.output, format, threads(args.threads), watch)
    })?;
    tell(&args.output, done);
    Ok(())
}

/// Says of the first file with weights that they get lost, where that is known before it is read.
fn warn_of_weights(input: &Input, format: Format) {
    if let Some(part) = input.parts().iter().find(|part| part.is_weighted()) {
        let instead = if format == Format::Gr { "every arc gets length 1" } else { "the output has edges alone" };
        tracing::warn!("{}: its weights are not converted; {instead}", part.path().display());
    }
}

fn tell(path: &Path, done: Converted) {
    let Converted { read, written, bytes } = done;
    // The file is there: that nobody takes this line is no reason to fail.
    let _ = stdout::print(format!("{}: {written} edges of {read} in {bytes} bytes", path.display()));
}

fn format_named(name: Option<&str>, option: &str) -> Result<Option<Format>> {
    let parse = |name: &str| name.parse().map_err(|e| Error::Usage(format!("{option} {name}: {e}")));
    name.filter(|&name| name != "auto").map(parse).transpose()
}

/// Runs work with a progress bar. Nothing of it outlives a signal.
fn shown<T>(name: &str, total: u64, work: impl FnOnce(&dyn Watch, &StageProgress) -> Result<T>) -> Result<T> {
    crate::job::log::init(crate::job::log::Format::Text, false, true);
    let progress = Progress::new(Duration::from_secs(30));
    let stage = progress.stage(name, total, Unit::Bytes);
    let value = work(&Watched(&stage), &stage).map_err(|e| match e {
        Error::Stopped(why) => Error::Abandoned(why),
        e => e,
    })?;
    stage.finish();
    Ok(value)
}
