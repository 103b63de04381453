//! The binary `firstpass`: arguments, wiring, exit codes.
//!
//! Each verb has a file that turns arguments into calls of the libraries and their answers into output. Nothing here
//! decides what is right or wrong about a repository.

mod args;
mod audit;
mod build;
mod check;
mod completion;
mod configured;
mod conformance;
mod exit;
mod explain;
mod gate;
mod graph;
mod kustomize;
mod order;
mod output;
mod prepare;
mod rehearse;
mod repository;
mod rules;
mod show;
mod transition;

use std::process::ExitCode;

use clap::Parser;

use crate::args::{Cli, Verb};
use crate::exit::Failure;

/// Trees of small strings are what this program makes most of; mimalloc is a third quicker at that than the system's.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = std::panic::catch_unwind(|| match &cli.verb {
        Verb::Build(arguments) => build::run(arguments),
        Verb::Check(arguments) => check::run(arguments),
        Verb::Rehearse(arguments) => rehearse::run(arguments),
        Verb::Graph(arguments) => graph::run(arguments),
        Verb::Audit(arguments) => audit::run(arguments),
        Verb::Order(arguments) => order::run(arguments),
        Verb::Gate(arguments) => gate::run(arguments),
        Verb::Completion(arguments) => completion::completion(arguments),
        Verb::Man(arguments) => completion::man(arguments),
        Verb::Explain(arguments) => explain::run(arguments),
        Verb::Kustomize(arguments) => kustomize::run(arguments),
    });
    match done {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => failure.report(),
        // The panic hook has already said where.
        Err(_) => Failure::Internal.report(),
    }
}
