//! How far an import is, on stderr: a bar on a terminal, lines elsewhere, nothing beside JSON.

use crate::output::Output;
use eshop_catalog::import::Report;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, stderr};

/// How many lines there are in all, where there is no bar.
const LINES: usize = 20;

/// An import's progress.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    output: Output,
    next: usize,
}

impl Progress {
    pub(crate) fn new(output: Output, names: usize) -> Self {
        let style = "{wide_bar} {human_pos} of {human_len} names";
        let bar = (output == Output::People && stderr().is_terminal()).then(|| {
            let style = ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar());
            ProgressBar::new(names as u64).with_style(style)
        });
        Self { bar, output, next: names.div_ceil(LINES) }
    }

    pub(crate) fn show(&mut self, report: &Report) {
        let settled = report.settled();
        if let Some(bar) = &self.bar {
            bar.set_position(settled as u64);
        } else if settled >= self.next {
            self.output.note(format_args!("{settled} of {} names", report.names));
            self.next += report.names.div_ceil(LINES);
        }
    }

    pub(crate) fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
