"""The loader benchmark's results as Markdown and JSON."""

import json
from pathlib import Path

MIB = 1 << 20
ALLOWANCE = 64 * MIB  # what a pipeline may take beside its budget


def say(text: str) -> None:
    """Progress, at once."""
    print(text, flush=True)


def setting_text(setting) -> str:
    """A TensorStore setting in words."""
    cache, how, ahead = setting
    return f"cache {cache // MIB} MiB, {how}, {ahead} batches ahead"


def markdown(results: dict) -> str:
    """Tables of rates, ratios and memory."""
    machine, budget = results["machine"], results["memory_bytes"]
    versions = ", ".join(f"{name} {number}" for name, number in machine["versions"].items())
    lines = [
        "# Loader benchmark",
        "",
        "Made by `make bench BENCH_FLAGS=\"--write docs/performance\"`; not edited by hand.",
        "",
        f"{machine['date']}, {machine['cpu']}, {machine['cores']} cores, Python {machine['python']}; {versions}.",
        "",
        "Workload: uint16 volume (256, 512, 512), zstd level 3, chunks (32, 64, 64) in shards (128, 256, 256), warm page",
        "cache; 64 random crops of (64, 128, 128) in batches of 8. "
        f"Memory for either: {budget // MIB} MiB. Every pass opens its store or",
        f"pipeline anew. {results['rounds']} interleaved rounds; each of our passes stands between two of TensorStore's at",
        "its best setting. Every batch was checked equal to TensorStore's in an untimed pass.",
        "",
        "## Samples per second: median (lowest to highest)",
        "",
        "| output | " + " | ".join(results["types"][0]["samples_per_s"]) + " |",
        "| --- |" + " ---: |" * len(results["types"][0]["samples_per_s"]),
    ]
    for row in results["types"]:
        cells = (f"{r['median']:.0f} ({r['min']:.0f} to {r['max']:.0f})" for r in row["samples_per_s"].values())
        lines.append(f"| {row['dtype']} | " + " | ".join(cells) + " |")
    lines += ["", "## Ratios within a round: median (lowest to highest)", "",
              "| output | to TensorStore's best | to the zstd floor | TensorStore's best setting |",
              "| --- | ---: | ---: | --- |"]
    for row in results["types"]:
        ratios = (f"{r['median']:.2f} ({r['min']:.2f} to {r['max']:.2f})"
                  for r in (row["ratio_to_tensorstore"], row["ratio_to_floor"]))
        lines.append(f"| {row['dtype']} | " + " | ".join(ratios)
                     + f" | {setting_text(row['tensorstore_setting'].values())} |")
    lines += ["", "The floor is plain zstd decompression of each chunk once per window of 64, on all cores: no reading,",
              "conversion or copying.", "", "## Peak growth of resident memory in one pass, MiB", "",
              f"| output | damacy (at most {(budget + ALLOWANCE) // MIB}) | TensorStore |", "| --- | ---: | ---: |"]
    for row in results["types"]:
        growth = row["peak_growth_bytes"]
        over = " **over**" if growth["damacy"] > budget + ALLOWANCE else ""
        lines.append(f"| {row['dtype']} | {growth['damacy'] / MIB:.0f}{over} | {growth['tensorstore'] / MIB:.0f} |")
    return "\n".join(lines) + "\n"


def write(results: dict, text: str, folder: Path) -> None:
    """loader.json and loader.md in `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "loader.json").write_text(json.dumps(results, indent=1) + "\n")
    (folder / "loader.md").write_text(text)
    say(f"written: {folder / 'loader.md'}, {folder / 'loader.json'}")
