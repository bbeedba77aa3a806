//! The examples for Snakemake and Nextflow.
