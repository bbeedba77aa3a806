//! `gpugraph generate`: writes generated graphs and lists to files.

mod weighted;

use super::cli::{GenerateArgs, GenerateKind, OutputArgs, ProductArgs};
use super::{format_named, lists, output_format, print_summary, shown, threads};
use crate::convert;
use crate::error::{Error, Result};
use crate::formats::{EdgeGenerator, Input, Packing};
use crate::generate::{self, Generator, Product};
use crate::job;
use std::path::Path;

/// `gpugraph generate`: generates a graph or a linked list and writes it to the output file.
///
/// # Errors
/// [`crate::Error::Usage`] for parameters out of range, [`crate::Error::Input`] if a factor of a product can't be
/// read, and errors of the disk.
pub fn generate(args: &GenerateArgs) -> Result<()> {
    match &args.kind {
        GenerateKind::Kronecker(r) => write(&r.output, || Generator::kronecker(r.scale, r.edge_factor, r.seed)),
        GenerateKind::Uniform(r) => write(&r.output, || Generator::uniform(r.scale, r.edge_factor, r.seed)),
        GenerateKind::Random(args) => weighted::random(args),
        GenerateKind::Rmat(args) => weighted::rmat(args),
        GenerateKind::Ssca2(args) => weighted::ssca2(args),
        GenerateKind::Grid(args) => weighted::grid(args),
        GenerateKind::Product(product) => write(&product.output, || product_of(product)),
        GenerateKind::List(list) => lists::generate(list),
    }
}

fn product_of(args: &ProductArgs) -> Result<Generator> {
    let format = format_named(args.input_format.as_deref(), "--input-format")?;
    let factor = |path: &Path| {
        let factor = job::input::find(&[path.to_owned()], format, false)?;
        convert::refuse_overlap(&factor, &args.output.output).map(|()| factor)
    };
    let (a, b) = (factor(&args.a)?, factor(&args.b)?);
    let product = shown("reading", 0, |watch| Product::read(&a, &b, watch)).map_err(|mut error| {
        // Suggested fixes for text files name options of `convert` that this command lacks.
        if let Error::Input { remedy, .. } = &mut error
            && remedy.contains("convert --")
        {
            remedy.push_str("; generate has no such option, and reads what convert writes");
        }
        error
    })?;
    Ok(Generator::Product(product))
}

/// Checks that the output can be written, then writes the edges of the generator that `make` returns.
fn write(output: &OutputArgs, make: impl FnOnce() -> Result<Generator>) -> Result<()> {
    convert::writable(&output.output)?;
    let format = output_format(&output.output, output.format.as_deref(), "--format")?;
    let generator = make()?;
    if let (Some(edge), Packing::Plain) = (format.record(), Packing::of(&output.output)) {
        convert::room_for(&output.output, generator.edges().saturating_mul(edge))?;
    }
    let total = Input::generated(generator.clone()).bytes();
    let threads = threads(output.threads)?;
    let done = shown("generate", total, |watch| generate::write(generator, &output.output, format, threads, watch))?;
    print_summary(&output.output, done);
    Ok(())
}
