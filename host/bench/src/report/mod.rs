//! Results, or a comparison of two -> a report: one HTML file that needs nothing else, not even scripts.
//!
//! Each section is a function from results to [`html::Html`], which escapes all that a results file holds. The page's policy
//! forbids every request and every script.

mod beside;
mod chart;
mod checks;
mod differences;
mod html;
mod numbers;
mod overview;
mod parts;
mod speed;
mod timeline;
mod what;
mod work;

pub use differences::comparison;

use crate::peers::absences;
use crate::results::{Results, Run};
use html::Html;

/// The page around the content, and its looks.
const PAGE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");

/// Runs that are shown at full length.
const UNFOLDED: usize = 3;

/// The report on results.
pub fn results(results: &Results) -> String {
    let runs: Vec<String> = results.runs.iter().map(|run| format!("{} in {}", run.name, run.dtype)).collect();
    let title = match runs.as_slice() {
        [one] => format!("Benchmark: {one}"),
        runs => format!("Benchmark: {} runs", runs.len()),
    };
    let lead = "How fast damacy read batches out of Zarr arrays, why, and beside whom. Every figure is the median of repeated rounds \
                where nothing else is said; the file results.json beside this one holds all of them.";
    let without = absences(&results.runs).into_iter().map(|absence| parts::paragraph(format!("Note: {absence}.")));
    let mut content = vec![
        verdict(results),
        Html::all(without),
        contents(&runs),
        overview::overview(results),
        overview::sweeps(results),
    ];
    content.extend(results.runs.iter().enumerate().map(|(index, one)| run(one, index, &runs[index], results)));
    content.push(where_it_ran(results));
    page(&title, lead, Html::all(content))
}

/// Whether everything held, before anything else.
fn verdict(results: &Results) -> Html {
    let checks = results.runs.iter().flat_map(|run| run.checks.iter().map(move |check| (run, check)));
    let (held, failed): (Vec<_>, Vec<_>) = checks.partition(|(_, check)| check.passed);
    if failed.is_empty() && held.is_empty() {
        return Html::default();
    }
    if failed.is_empty() {
        let all =
            if held.len() == 1 { "The check holds".to_owned() } else { format!("All {} checks hold", held.len()) };
        let words = format!("✓ {all}: predictions came true, memory stayed within its budget.");
        return Html::element("p", &[("class", "verdict holds")], words.into());
    }
    let names: Vec<String> =
        failed.iter().map(|(run, check)| format!("{} in {}: {}", run.name, run.dtype, check.name)).collect();
    let words = format!("✗ {} of {} checks failed: {}", failed.len(), failed.len() + held.len(), names.join("; "));
    Html::element("p", &[("class", "verdict fails")], words.into())
}

/// Links to the runs, where there are several.
fn contents(runs: &[String]) -> Html {
    if runs.len() < 2 {
        return Html::default();
    }
    let link = |(index, name): (usize, &String)| {
        let link = Html::element("a", &[("href", &format!("#run-{index}"))], name.as_str().into());
        Html::element("li", &[], link)
    };
    let list = Html::element("ul", &[], Html::all(runs.iter().enumerate().map(link)));
    Html::element("nav", &[("aria-label", "Runs")], list)
}

/// One run. Of many runs each shows its speed, and folds away the rest.
fn run(run: &Run, index: usize, title: &str, results: &Results) -> Html {
    let cores = results.machine.cores;
    let whole = results.runs.len() <= UNFOLDED;
    let rest = Html::all([
        if whole { Html::default() } else { speed::further(run) },
        what::scenario(run, cores),
        work::stages(run, cores),
        timeline::timeline(run),
        work::waste(run),
        work::decodes(run),
        work::ceiling(run),
        work::budget(run),
        beside::peers(run),
        checks::checks(run),
    ]);
    let rest = if whole {
        rest
    } else {
        let summary = Html::element("summary", &[], format!("Why: all sections of {title}").into());
        Html::element("details", &[("class", "all")], Html::all([summary, rest]))
    };
    let description = match run.scenario.description.as_str() {
        "" => Html::default(),
        description => Html::element("p", &[("class", "lead")], description.into()),
    };
    let parts = [Html::element("h2", &[], title.into()), description, speed::speed(run, cores, whole), rest];
    Html::element("article", &[("class", "panel"), ("id", &format!("run-{index}"))], Html::all(parts))
}

fn where_it_ran(results: &Results) -> Html {
    let lead = "Figures are of this machine and these versions, and of whatever else ran on it; compare them with figures of another \
                machine only as ratios.";
    let parts = [
        Html::element("h2", &[], "Where it ran".into()),
        Html::element("p", &[("class", "lead")], lead.into()),
        what::machine(results),
    ];
    let attributes = [("class", "panel"), ("id", "machine"), ("data-part", "machine")];
    Html::element("section", &attributes, Html::all(parts))
}

/// Fills the page; each place is filled once, so that no content can be taken for a place.
fn page(title: &str, lead: &str, content: Html) -> String {
    let title = Html::text(title).into_string();
    let fillings = [
        ("{title}", title.clone()),
        ("{style}", STYLE.to_owned()),
        ("{title}", title),
        ("{lead}", Html::text(lead).into_string()),
        ("{content}", content.into_string()),
    ];
    let (mut page, mut rest) = (String::new(), PAGE);
    for (place, filling) in fillings {
        let (before, after) = rest.split_once(place).unwrap_or((rest, ""));
        page += before;
        page += &filling;
        rest = after;
    }
    page + rest
}
