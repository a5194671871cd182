"""The conversion's report: JSON of the bench `pairs` and of casts.py -> docs/performance.md and a heat map.

    python pairs_report.py --data docs/performance --document docs/performance.md

Reads pairs.json, casts.json and any pairs-LEVEL.json (runs of lesser instruction sets) in the data folder, and writes
pairs.svg beside them. `make bench-pairs` makes all of it.
"""

import argparse
import json
import math
import os
import textwrap
from pathlib import Path
from statistics import median

import pairs_heatmap as heatmap
from pairs_bounds import MEASURES, WIDTHS, bound, target

SCHEMAS = {"pairs": "damacy-pairs/2", "casts": "damacy-casts/1"}
SHORT = {"uint": "u", "int": "i", "float": "f", "bfloat": "bf"}
Pair = tuple[str, str]
# A figure: median, lowest, highest.
Figure = tuple[float, float, float]
# Measures of which memcpy's own figure of the same rounds is shown; where a part of it is enough, that part.
ALLOWED = {"rows64": None, "rows128": None, "threads": 0.95}


def load(path: Path, schema: str) -> dict:
    """A run's results."""
    results = json.loads(path.read_text())
    if results.get("schema") != SCHEMAS[schema]:
        raise SystemExit(f"{path}: schema {results.get('schema')}; accepted is {SCHEMAS[schema]}")
    return results


def short(name: str) -> str:
    """uint8 -> u8."""
    letters = name.rstrip("0123456789")
    return SHORT[letters] + name[len(letters) :]


def spread(found: dict | None) -> Figure | None:
    return found and (found["median"], found["min"], found["max"])


def figures(pairs: dict, casts: dict) -> dict[str, dict[Pair, Figure]]:
    """By measure and pair."""
    found: dict[str, dict[Pair, Figure | None]] = {measure: {} for measure in MEASURES}
    for row in pairs["pairs"]:
        pair = row["source"], row["output"]
        found["small"][pair] = spread(row["small"]["ratio_to_memcpy"])
        found["large"][pair] = spread(row["large"]["ratio_to_memcpy"])
        found["sandbox"][pair] = spread(row["sandbox"] and row["sandbox"]["ratio_to_native"])
        found["rows64"][pair] = spread(row["crops"] and row["crops"]["64"])
        found["rows128"][pair] = spread(row["crops"] and row["crops"]["128"])
        found["threads"][pair] = spread(row["parallel"] and row["parallel"]["ratio_to_one"])
    for row in casts["pairs"]:
        pair = short(row["source"]), short(row["output"])
        for peer in ("numpy", "torch"):
            found[peer][pair] = spread(row.get(peer) and row[peer]["times_as_fast"])
    return {measure: {pair: f for pair, f in row.items() if f} for measure, row in found.items()}


def allowed(pairs: dict) -> dict[str, dict[Pair, float]]:
    """What memcpy reached, by measure and pair."""
    found: dict[str, dict[Pair, float]] = {measure: {} for measure in ALLOWED}
    for row in pairs["pairs"]:
        pair = row["source"], row["output"]
        if row["crops"]:
            for length in ("64", "128"):
                found[f"rows{length}"][pair] = row["crops"][f"{length}_memcpy"]["median"]
        if row["parallel"]:
            found["threads"][pair] = row["parallel"]["memcpy_ratio_to_one"]["median"]
    return found


def under(found: dict[Pair, Figure], measure: str, allowed: dict[str, dict[Pair, float]]) -> set[Pair]:
    """Pairs whose median is under their target, as it is printed, and under what memory allows where that counts."""
    part = ALLOWED.get(measure)

    def is_under(pair: Pair, figure: Figure) -> bool:
        return round(figure[0], 2) < target(*pair, measure) and not (
            part and figure[0] >= part * allowed[measure].get(pair, math.inf)
        )

    return {pair for pair, figure in found.items() if is_under(pair, figure)}


def wrapped(text: str) -> list[str]:
    """Lines of the document's width."""
    return textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False)


def table(head: list[str], rows: list[list[str]], left: int = 1) -> list[str]:
    """Markdown; the first `left` columns are text."""
    rule = ["---"] * left + ["---:"] * (len(head) - left)
    return [f"| {' | '.join(cells)} |" for cells in [head, rule, *rows]]


def targets_table(found: dict[str, dict[Pair, Figure]], limits: dict[str, dict[Pair, float]], casts: dict) -> list[str]:
    """How many pairs reach what they should."""
    rows = []
    for measure, by_pair in found.items():
        if not by_pair:
            rows.append([MEASURES[measure], "", "not measured", "", ""])
            continue
        wanted = sorted({target(*pair, measure) for pair in by_pair}, reverse=True)
        worst = min(by_pair, key=lambda pair: by_pair[pair][0])
        rows.append([
            MEASURES[measure],
            " or ".join(f"{t:g}" for t in wanted) + (", or 0.95 of memcpy's" if measure == "threads" else ""),
            f"{len(by_pair) - len(under(by_pair, measure, limits))} of {len(by_pair)}",
            f"{median(f[0] for f in by_pair.values()):.2f}",
            f"{by_pair[worst][0]:.2f} ({' to '.join(worst)})",
        ])
    for measure, by_pair in limits.items():
        if by_pair:
            worst = min(by_pair, key=lambda pair: by_pair[pair])
            rows.append([f"(memcpy: {MEASURES[measure]})", "", "", f"{median(by_pair.values()):.2f}",
                         f"{by_pair[worst]:.2f} ({' to '.join(worst)})"])
    lines = table(["ratio", "target", "pairs that reach it", "median pair", "lowest pair"], rows)
    lines += ["", *wrapped(
        "The median pair should be at least 3 times as fast as either peer, and the sandbox at least 0.5 of native for "
        "the median pair and 0.15 for the lowest. As the expressions that one writes without thinking of memory, into "
        "new arrays (ours being `convert` without `out`):"), ""]
    for peer in ("numpy", "torch"):
        new = f"{peer}, new array"
        ratios = [row[new]["times_as_fast"]["median"] for row in casts["pairs"] if row.get(new)]
        if ratios:
            what = f"median pair {median(ratios):.2f} times as fast, lowest {min(ratios):.2f}, {len(ratios)} pairs"
            lines.append(f"- {peer}: {what}")
    return lines


def copies_of_rows(found: dict[str, dict[Pair, Figure]], limits: dict[str, dict[Pair, float]]) -> list[str]:
    """What the order of the destination's lines leaves of the flat speed, by row length and output width."""
    rows = []
    for measure in ("rows64", "rows128"):
        for width in sorted(set(WIDTHS.values())):
            wide = [pair for pair in found[measure] if WIDTHS[pair[1]] == width]
            copies = [found[measure][pair][0] for pair in wide if pair[0] == pair[1]]
            if copies:
                calls = median(limits[measure][pair] for pair in wide if pair[0] == pair[1])
                rows.append([measure.removeprefix("rows"), str(width), f"{median(copies):.2f}", f"{calls:.2f}",
                             f"{median(found[measure][pair][0] for pair in wide):.2f}"])
    head = ["elements in a row", "bytes an element", "copies, this code", "copies, memcpy", "all conversions"]
    return [*table(head, rows, 0), "", *wrapped(
        "Medians. Pairs of one type only copy, so that their rows beside their flat copies show what the order of the "
        "lines costs without any arithmetic; a conversion to elements of that width writes the same lines in the same "
        "order. memcpy is called once a row, which costs more than a short row.")]


def all_pairs(
    pairs: dict, found: dict[str, dict[Pair, Figure]], limits: dict[str, dict[Pair, float]]
) -> list[str]:
    """The table of 100."""
    small, large = f"{pairs['small_bytes'] >> 10} KiB", f"{pairs['large_bytes'] >> 20} MiB"
    marked = {measure: under(by_pair, measure, limits) for measure, by_pair in found.items()}

    def limit(measure: str, pair: Pair) -> str:
        return f"{limits[measure][pair]:.2f}" if pair in limits[measure] else "-"

    def cell(measure: str, pair: Pair, ends: bool) -> str:
        figure = found[measure].get(pair)
        if not figure:
            return "-"
        shown = f"{figure[0]:.2f}" + ("*" if pair in marked[measure] else "")
        return shown + (f" ({figure[1]:.2f} to {figure[2]:.2f})" if ends else "")

    rows = []
    for row in pairs["pairs"]:
        pair = row["source"], row["output"]
        rows.append([" to ".join(pair)] + [
            text for size in ("small", "large")
            for text in (f"{row[size]['native_gib_s']['median']:.1f}", cell(size, pair, True))
        ] + [cell("sandbox", pair, False)] + [
            text for measure in ("rows64", "rows128", "threads")
            for text in (cell(measure, pair, False), limit(measure, pair))
        ] + [cell(measure, pair, False) for measure in ("numpy", "torch")])
    head = ["pair", f"{small}: GiB/s", "to memcpy", f"{large}: GiB/s", "to memcpy", "sandbox to native",
            "rows of 64", "memcpy", "rows of 128", "memcpy", "2 threads", "memcpy", "times numpy", "times torch"]
    return table(head, rows)


def under_target(found: dict[str, dict[Pair, Figure]], limits: dict[str, dict[Pair, float]]) -> list[str]:
    """Every pair under a target, and why."""
    rows = []
    for measure, by_pair in found.items():
        marked = under(by_pair, measure, limits)
        for pair, figure in by_pair.items():
            if pair in marked:
                rows.append([" to ".join(pair), MEASURES[measure], bound(*pair, measure), f"{figure[0]:.2f}",
                             f"{target(*pair, measure):g}",
                             f"{limits[measure][pair]:.2f}" if pair in limits.get(measure, {}) else ""])
    return table(["pair", "ratio", "bounded by", "figure", "target", "memcpy"], rows, 3) if rows else ["None."]


def levels(runs: list[dict]) -> list[str]:
    """The same kernels with other instruction sets, and with what each run was made."""
    rows = []
    for run in runs:
        row = [run["simd"]["level"], run["machine"]["command"].replace("|", "\\|")]
        for size in ("small", "large"):
            ratios = [pair[size]["ratio_to_memcpy"]["median"] for pair in run["pairs"]]
            row += [f"{median(ratios):.2f}", f"{min(ratios):.2f}"]
        rows.append(row)
    return table(["level", "command", "in L2: median pair", "lowest", "beyond: median pair", "lowest"], rows, 2)


def differences(casts: dict) -> list[str]:
    """Where a peer cannot give our values."""
    rows = []
    for row in casts["pairs"]:
        for peer in ("numpy", "torch"):
            if peer in row and row[peer] is None:
                rows.append([f"{row['source']} to {row['output']}", peer, "cannot convert", "", ""])
            elif row.get(peer) and row[peer]["differences"]["elements"]:
                differ = row[peer]["differences"]
                rows.append([f"{row['source']} to {row['output']}", peer, row[peer]["way"], str(differ["elements"]),
                             str(differ["both_nan"])])
    head = ["pair", "peer", "way", "elements that differ", "of them NaN in both"]
    return table(head, rows, 3) if rows else ["Nowhere."]


def machine(pairs: dict, casts: dict) -> list[str]:
    """Where and with what."""
    at, versions = pairs["machine"], casts["machine"]["versions"]
    caches = ", ".join(f"L{c['level']} {c['size']}" for c in at["caches"] if c["type"] != "Instruction")
    return [
        *wrapped(
            f"{at['date']}, commit {at['commit']}: {at['cpu']}, {at['cores']} cores, {caches} (as the system reports "
            f"them), Linux {at['kernel']}, {at['rustc']}, instruction set `{pairs['simd']['level']}`; Python "
            f"{casts['machine']['python']}, {', '.join(f'{name} {number}' for name, number in versions.items())}. "
            f"Load average when the runs ended: {at['load'].split()[0]} and {casts['machine']['load'].split()[0]}; "
            f"they took {pairs['seconds']} s and {casts['seconds']} s."),
        "",
        f"    {at['command']}",
        f"    {casts['machine']['command']}",
    ]


def document(pairs: dict, casts: dict, others: list[dict], picture: str) -> str:
    """docs/performance.md."""
    found, limits = figures(pairs, casts), allowed(pairs)
    reading = (
        "One core. A ratio compares two measurements of the same round, which ran in turn on the same buffers; figures "
        f"are medians of {pairs['rounds']} rounds ({3 * pairs['rounds']} in L2 and for crops, {casts['rounds']} beside "
        "numpy and torch), with the lowest and the highest in brackets. GiB/s count bytes read and written; memcpy "
        "reads and writes as many. The larger of source and output has the size that a column names "
        f"({casts['mib']:g} MiB beside numpy and torch). Virtual machines are noisy: compare within a table. A star "
        "marks a figure under its target."
    )
    notes = (
        "Rows of 64 and 128: eight chunks scattered into one sample, to as many flat conversions; behind them, memcpy of as "
        "many rows of as many bytes to memcpy of the chunks, and behind two threads, two of memcpy to one. numpy and torch "
        "write into existing buffers, by the fastest of several ways (`python/benchmarks/cast_peers.py`) to our values."
    )
    lines = [
        "# Performance of the conversion", "", "Made by `make bench-pairs`; not edited by hand.", "",
        *machine(pairs, casts), "", *wrapped(reading), "", *wrapped(f"Values: {pairs['values']}."), "",
        f"![Heat maps of the 100 pairs]({picture})", "",
        "## Targets", "", *targets_table(found, limits, casts), "",
        "## Rows of a crop", "", *copies_of_rows(found, limits), "",
        "## All pairs", "", *all_pairs(pairs, found, limits), "", *wrapped(notes), "",
        "## Under target, and what bounds it", "", *under_target(found, limits), "",
        "## Instruction sets", "", *levels([pairs, *others]), "",
        "## Where a peer gives other values", "", *differences(casts), "",
    ]
    return "\n".join(lines)


def picture(pairs: dict, casts: dict) -> str:
    """Four maps."""
    found, limits = figures(pairs, casts), allowed(pairs)
    faster = {
        pair: min((found[peer][pair] for peer in ("numpy", "torch") if pair in found[peer]), default=None)
        for pair in found["numpy"] | found["torch"]
    }
    shown = [
        ("Native to memcpy, in L2", found["small"], "small", (0, 0.25, 0.5, 0.75, 1), False),
        ("Native to memcpy, beyond the caches", found["large"], "large", (0, 0.25, 0.5, 0.75, 1), False),
        ("Sandbox to native, beyond the caches", found["sandbox"], "sandbox", (0, 0.25, 0.5, 0.75, 1), False),
        ("Times as fast as the faster of numpy and torch", faster, "numpy", (0.5, 1, 2, 4, 8, 16), True),
    ]
    panels = [heatmap.Panel(title, {p: f[0] for p, f in by_pair.items()}, under(by_pair, measure, limits), ticks, log)
              for title, by_pair, measure, ticks, log in shown]
    names = [list(dict.fromkeys(row[side] for row in pairs["pairs"])) for side in ("source", "output")]
    return heatmap.svg("Conversion speed of the 100 pairs", panels, *names)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with pairs.json and casts.json")
    parser.add_argument("--document", type=Path, required=True, help="the Markdown file to write")
    args = parser.parse_args()
    pairs, casts = load(args.data / "pairs.json", "pairs"), load(args.data / "casts.json", "casts")
    others = [load(path, "pairs") for path in sorted(args.data.glob("pairs-*.json"))]
    drawn = args.data / "pairs.svg"
    drawn.write_text(picture(pairs, casts))
    relative = os.path.relpath(drawn, args.document.parent)
    args.document.write_text(document(pairs, casts, others, relative))
    print(f"written: {args.document}, {drawn}")


if __name__ == "__main__":
    main()
