"""One HTML page and doc/benchmarks.md from the JSON files of the studies."""

import io
import json
import os
import re
import statistics
from pathlib import Path
from typing import Any

import jinja2

from bench.lib.console import BenchError, console
from bench.lib.paths import BENCH, TOP, work

BLUE, GREY = "#336791", "#888888"


def read_results(directory: Path) -> list[dict[str, Any]]:
    results = []
    for path in sorted(directory.glob("*.json")):
        try:
            result = json.loads(path.read_text(encoding="utf-8"))
            results.append(
                {
                    key: result[key]
                    for key in ("study", "quick", "environment", "metrics", "intervals", "tables", "samples")
                }
            )
        except (ValueError, KeyError, TypeError) as error:
            raise BenchError(f'"{path}" is not a result of bench/run: {type(error).__name__} {error}') from error
    if not results:
        raise BenchError(
            f'there are no results in "{directory}", make some: bench/run row-size --json {directory}/row-size.json'
        )
    return results


def _svg(figure) -> str:
    import matplotlib.pyplot as plt

    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)
    # Inline SVG has no use for the XML and DOCTYPE lines.
    return text.getvalue()[text.getvalue().index("<svg") :]


# Metrics with a unit are no ratios, and of what there are dozens of, the tables are enough.
NOT_DRAWN = re.compile(r"_(ms|ns|gbs|ns_byte)\b|^numeric-money\.|^bytes_(images|write)\.|\.inserted$|\.bgwriter_share\b|^mix\.(?!mean$)|^plain\.|^threshold")


def _ratios(result: dict[str, Any]) -> dict[str, float]:
    return {name: value for name, value in result["metrics"].items() if not NOT_DRAWN.search(name)}


def ratio_chart(result: dict[str, Any]) -> str:
    """Every ratio as a bar with its interval, and a line at 1."""
    import matplotlib.pyplot as plt

    ratios = _ratios(result)
    names = list(reversed(ratios))
    figure, axes = plt.subplots(figsize=(8, 0.6 + 0.27 * len(names)))
    for row, name in enumerate(names):
        value = ratios[name]
        axes.barh(row, value, color=BLUE if value < 1 else GREY, height=0.6)
        axes.text(0.02, row, f"{value:.3f}", color="white", va="center", fontsize=7)
        if name in result["intervals"]:
            interval = result["intervals"][name]
            axes.plot([interval["low"], interval["high"]], [row, row], color="black", linewidth=1)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_yticks(range(len(names)), names)
    axes.set_xlabel("ratio (1 = stock, or what the name says)")
    axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure)


def throughput_chart(result: dict[str, Any]) -> str:
    """Every run as a dot, in the order of the stages; one group for each setting."""
    import matplotlib.pyplot as plt

    groups: dict[tuple[str, str], list[float]] = {}
    for sample in result["samples"]:
        groups.setdefault((sample["setting"] or "main", sample["stage"]), []).append(sample["notpm"])
    figure, axes = plt.subplots(figsize=(8, 3))
    for place, values in enumerate(groups.values()):
        axes.plot([place] * len(values), values, "o", color=BLUE, alpha=0.7)
    settings = {setting for setting, _ in groups}
    axes.set_xticks(
        range(len(groups)),
        [stage if len(settings) == 1 else f"{stage}\n{setting}" for setting, stage in groups],
        rotation=0 if len(groups) < 7 else 45,
    )
    axes.set_ylim(bottom=0)
    axes.set_xlim(-0.5, len(groups) - 0.5)
    axes.set_ylabel("New-Orders a minute")
    axes.spines[["top", "right"]].set_visible(False)
    return _svg(figure)


def _toast_numbers(samples: list[dict[str, Any]]) -> dict[str, dict[str, dict[str, float]]]:
    """By what is drawn, panel and variant: the share of the bytes that is stored, microseconds of a value."""
    numbers: dict[str, dict[str, dict[str, list[float]]]] = {
        "stored / raw bytes": {},
        "INSERT, µs": {},
        "read, µs": {},
    }
    for sample in samples:
        if sample["test"] == "size":
            what, value = "stored / raw bytes", (sample["heap"] + sample["toast"]) / sample["raw"]
        elif "seconds" in sample:
            what = "INSERT, µs" if sample["test"] == "insert" else "read, µs"
            value = sample["seconds"] * 1e6 / sample["rows"] / sample["passes"]
        else:
            continue
        numbers[what].setdefault(sample["panel"], {}).setdefault(sample["type"], []).append(value)
    return {
        what: {
            panel: {variant: statistics.median(values) for variant, values in variants.items()}
            for panel, variants in panels.items()
        }
        for what, panels in numbers.items()
    }


def toast_chart(samples: list[dict[str, Any]], title: str) -> str:
    """A panel for each kind or size of values, and a bar for each way to store them; none where it is an error."""
    import matplotlib.pyplot as plt

    numbers = _toast_numbers(samples)
    panels = list(dict.fromkeys(sample["panel"] for sample in samples))
    variants = list(dict.fromkeys(sample["type"] for sample in samples))
    names = list(reversed(variants))
    figure, grid = plt.subplots(
        len(numbers),
        len(panels),
        figsize=(2.4 * len(panels), len(numbers) * (0.7 + 0.17 * len(names))),
        squeeze=False,
        sharey=True,
    )
    for row, (what, drawn) in zip(grid, numbers.items()):
        for axes, panel in zip(row, panels):
            values = drawn.get(panel, {})
            colors = [BLUE if name.startswith(("policy", "own", "core")) else GREY for name in names]
            axes.barh(range(len(names)), [values.get(name, 0) for name in names], color=colors, height=0.7)
            for place, name in enumerate(names):
                label = f" {values[name]:.3g}" if name in values else " error"
                axes.text(values.get(name, 0), place, label, va="center", fontsize=6)
            axes.set_yticks(range(len(names)), names)
            axes.tick_params(labelsize=7)
            axes.margins(x=0.2)
            axes.set_xlabel(what, fontsize=7)
            axes.spines[["top", "right"]].set_visible(False)
    for axes, panel in zip(grid[0], panels):
        axes.set_title(panel, fontsize=8)
    if title:
        figure.suptitle(title)
    figure.tight_layout()
    return _svg(figure)


def toast_charts(result: dict[str, Any]) -> list[str]:
    groups: dict[str, list[dict[str, Any]]] = {}
    for sample in result["samples"]:
        if "panel" in sample:
            groups.setdefault(sample["group"], []).append(sample)
    return [toast_chart(samples, title) for title, samples in groups.items()]


def slices_chart(result: dict[str, Any]) -> str:
    """Growth and speed over the run: a panel for each workload, a line for each variant, medians of the runs."""
    import matplotlib.pyplot as plt

    samples = result["samples"]
    workloads = list(dict.fromkeys(sample["workload"] for sample in samples))
    figure, grid = plt.subplots(2, len(workloads), figsize=(3.2 * len(workloads), 5), squeeze=False)
    for axes, workload in zip(grid.T, workloads):
        variants = dict.fromkeys(sample["variant"] for sample in samples if sample["workload"] == workload)
        for panel, name in zip(axes, ("growth_pages_by_slice", "tps_by_slice")):
            for variant in variants:
                own = (workload, variant)
                runs = [sample[name] for sample in samples if (sample["workload"], sample["variant"]) == own]
                medians = [statistics.median(values) for values in zip(*runs)]
                panel.plot(range(1, len(medians) + 1), medians, "o-", markersize=3, label=variant)
            panel.set_ylim(bottom=0)
            panel.spines[["top", "right"]].set_visible(False)
        axes[0].set_title(workload, fontsize=9)
        axes[0].legend(fontsize=7)
        axes[1].set_xlabel("eighth of the run")
    grid[0][0].set_ylabel("growth, pages")
    grid[1][0].set_ylabel("operations a second")
    figure.tight_layout()
    return _svg(figure)


def statements_chart(result: dict[str, Any]) -> list[str]:
    """Time of each statement: a panel for each table, a bar for each variant, medians of the runs."""
    import matplotlib.pyplot as plt

    times: dict[str, dict[str, dict[str, list[float]]]] = {}
    for sample in result["samples"]:
        if "seconds" in sample:
            table, _, statement = sample["test"].partition(".")
            variants = times.setdefault(table, {}).setdefault(sample["type"], {})
            variants.setdefault(statement, []).append(sample["seconds"] * 1e6)
    if not times:
        return []
    figure, grid = plt.subplots(len(times), 1, figsize=(9, 2.8 * len(times)), squeeze=False)
    for axes, (table, variants) in zip(grid.T[0], times.items()):
        statements = list(next(iter(variants.values())))
        width = 0.8 / len(variants)
        for number, (variant, measured) in enumerate(variants.items()):
            places = [place + number * width for place in range(len(statements))]
            heights = [statistics.median(measured[name]) if name in measured else 0 for name in statements]
            axes.bar(places, heights, width, label=variant)
        axes.set_xticks([place + 0.4 - width / 2 for place in range(len(statements))], statements)
        axes.set_title(table, fontsize=9)
        axes.set_ylabel("µs")
        axes.spines[["top", "right"]].set_visible(False)
    grid[0][0].legend(fontsize=6, ncols=4)
    figure.tight_layout()
    return [_svg(figure)]


def fillfactor_chart(result: dict[str, Any]) -> str:
    """HOT over the run, and what the updates leave of the order of a clustered table."""
    import matplotlib.pyplot as plt

    figure, (hot, order) = plt.subplots(2, 1, figsize=(8, 6.4))
    runs = [sample for sample in result["samples"] if sample["test"] == "hot"]
    styles = {"each": "o-", "snapshot": "s--", "together": "x:"}
    for sample in runs:
        if sample["length"] == runs[0]["length"]:
            shares = sample["hot_by_slice"]
            color = GREY if sample["fillfactor"] == 100 else BLUE
            label = f"fillfactor {sample['fillfactor']}, {sample['title']}"
            hot.plot(range(1, len(shares) + 1), shares, styles[sample["mode"]], color=color, markersize=4, label=label)
    hot.set_xlabel("eighth of the run")
    hot.set_ylabel("share of HOT")
    for sample in result["samples"]:
        if sample["test"] == "correlation":
            label = f"fillfactor {sample['fillfactor']}"
            order.plot(sample["updates"], sample["correlation"], "o-", markersize=3, alpha=0.7, label=label)
    order.set_xlabel("updates")
    order.set_ylabel("correlation of the key")
    for axes in (hot, order):
        axes.legend(fontsize=7)
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    return _svg(figure)


def charts(result: dict[str, Any]) -> list[str]:
    drawn = [ratio_chart(result)] if _ratios(result) else []
    if result["study"] == "tpcc":
        drawn.append(throughput_chart(result))
    if result["study"] == "bgvacuum":
        drawn.append(slices_chart(result))
    if result["study"] == "vertical-partition":
        drawn += statements_chart(result)
    if result["study"] == "fillfactor":
        drawn.append(fillfactor_chart(result))
    if result["study"].startswith("toast-"):
        drawn += toast_charts(result)
    return drawn


def prepare_matplotlib() -> None:
    os.environ.setdefault("MPLCONFIGDIR", str(work() / "matplotlib"))
    import matplotlib

    matplotlib.use("svg")
    # The same results give the same file.
    matplotlib.rcParams.update({"svg.hashsalt": "pg_dense", "font.size": 9})


def write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise BenchError(f'could not write "{path}": {error.strerror}') from error
    console.print(f"written: {path}", soft_wrap=True)


def run(directory: Path | None, html: Path | None, markdown: Path | None) -> None:
    results = read_results(directory or BENCH / "results")
    prepare_matplotlib()
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(BENCH / "templates"),
        undefined=jinja2.StrictUndefined,
        autoescape=lambda name: bool(name and name.endswith(".html")),
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    write(
        html or work() / "report.html",
        environment.get_template("report.html").render(results=results, charts=[charts(result) for result in results]),
    )
    write(markdown or TOP / "doc" / "benchmarks.md", environment.get_template("benchmarks.md").render(results=results))
