"""The cost model of a fit on a cluster: constants from results.json, predictions for machines.

The time of a tree on p machines is that of its rows on one of them, of the search, and of the
exchanges:

    T(p) = (n f c / p + S) / (k e) + Σ_b m_b X(p, b)

n rows, f features, c: core seconds per row and feature, S: core seconds per tree that do not depend
on the rows, k cores per machine, e: efficiency of its threads, m_b: the sums of b bytes per tree.
A sum over p machines has s steps, in each of which a machine sends a message to each other one:

    X(p, b) = s (a + l) + s (p − 1) q + v (d + 1/w)
    direct, if p = 2 or b p ≤ 256 KB:     s = 1, v = (p − 1) b
    reduce-scatter and all-gather:        s = 2, v = 2 b (p − 1) / p

a, q, d: seconds per step, per message and per byte, measured on the loopback interface; l, w:
latency and bandwidth of the network, which are assumed. The script prints the constants, the
predictions beside the measured times, and a table of machines as Markdown; ``--write`` puts them
between the marks in a page.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from page import fields, sum_times  # noqa: E402
from synthetic import FEATURES  # noqa: E402
from turns import medians  # noqa: E402

from stagewise.cluster.exchange import DIRECT_SUM_BYTES  # noqa: E402

ROWS = (10**8, 10**9, 10**10)
MACHINES = (1, 8, 64, 512)
BEGIN, END = "<!-- begin of the tables of model.py -->", "<!-- end of the tables of model.py -->"
ROW_BYTES = 32 + 24
"""In a store: codes (28, padded), target, score, gradients, row lists."""


@dataclass(frozen=True)
class Exchange:
    """The time of a sum.

    Parameters
    ----------
    step, message, byte : float
        The seconds of each.
    """

    step: float
    message: float
    byte: float

    def seconds(self, p: int, size: int) -> float:
        """Return the seconds of a sum of some bytes over p machines."""
        return float(np.dot(traffic(p, size), (self.step, self.message, self.byte)))

    def over(self, latency: float, bandwidth: float) -> Exchange:
        """Return the exchange over a network."""
        return Exchange(self.step + latency, self.message, self.byte + 1 / bandwidth)


@dataclass(frozen=True)
class Constants:
    """What was measured.

    Parameters
    ----------
    exchange : Exchange
        On the loopback interface, by protocol.
    cell, local_cell : float
        Core seconds per row, feature and tree, on a cluster and in one process.
    search : float
        Core seconds per tree that do not depend on the rows.
    sums, few_sums : sequence of (int, float)
        The bytes of the sums of a tree and their numbers, with many rows and with few rows.
    """

    exchange: dict[str, Exchange]
    cell: float
    local_cell: float
    search: float
    sums: Sequence[tuple[int, float]]
    few_sums: Sequence[tuple[int, float]]


@dataclass(frozen=True)
class Machine:
    """A machine and its network; these are assumptions.

    Parameters
    ----------
    cores : int
        Their number.
    efficiency : float
        Of all cores together, compared with one.
    latency : float
        Seconds, one way.
    bandwidth : float
        Bytes per second.
    """

    cores: int
    efficiency: float
    latency: float
    bandwidth: float


def traffic(p: int, size: int) -> tuple[float, float, float]:
    """Return the steps of a sum over p machines, and the messages and bytes that each sends."""
    if p == 1:
        return 0, 0, 0
    if p == 2 or size * p <= DIRECT_SUM_BYTES:
        return 1, p - 1, (p - 1) * size
    return 2, 2 * (p - 1), 2 * size * (p - 1) / p


# --- constants ---------------------------------------------------------------------------------


def fit_exchange(part: dict[str, Any], protocol: str, cores: int) -> Exchange:
    """Return the constants that fit the measured sums best, by relative errors.

    On one machine, messages and bytes are work of its cores: p workers share them.
    """
    rows, times = [], []
    for name, by_size in sum_times(part).items():
        _, used, p, _ = fields(name)
        for size, (median, _) in by_size.items() if used == protocol else ():
            step, messages, volume = traffic(p, size)
            shared = max(1.0, p / cores)
            rows.append(np.array([step, messages * shared, volume * shared]) / (1e-3 * median))
            times.append(1.0)
    found, _ = nnls(np.array(rows), np.array(times))
    return Exchange(*map(float, found))


def find_constants(results: dict[str, Any]) -> Constants:
    """Return the constants; time outside exchanges is `search + rows · features · cell`.

    They come from fits on two workers, where a sum is one message.
    """
    parts, cores = results["parts"], results["machine"]["cores"]
    protocols = {fields(name)[1] for name in parts["sums"]["entries"]}
    few = parts["overhead"]["entries"]["stagewise-tcp-2-array"]
    many = next(
        turns
        for name, turns in parts["fits"]["entries"].items()
        if name.startswith("stagewise-tcp-2-")
    )
    local = medians(parts["fits"]["entries"])["local-tcp-2-array"]
    few_rows = parts["overhead"]["settings"]["rows_per_rank"]
    many_rows = parts["fits"]["settings"]["rows"] / 2
    own = [medians({"": turns})[""] for turns in (few, many)]
    times = [1e-3 * (m["tree_ms"] - m["exchange_ms"]) for m in own]
    cell = (times[1] - times[0]) / (many_rows - few_rows) / FEATURES
    return Constants(
        {each: fit_exchange(parts["sums"], each, cores) for each in sorted(protocols)},
        cell,
        1e-3 * local["tree_ms"] * local["threads"] / (2 * many_rows) / FEATURES,
        max(0.0, times[0] - few_rows * FEATURES * cell),
        many[0]["sizes"],
        few[0]["sizes"],
    )


# --- predictions -------------------------------------------------------------------------------


def tree_seconds(
    constants: Constants, exchange: Exchange, rows: float, machine: Machine, p: int
) -> tuple[float, float]:
    """Return the seconds of a tree on p machines: compute, exchange."""
    compute = rows * FEATURES * constants.cell / p + constants.search
    sums = sum(n * exchange.seconds(p, size) for size, n in constants.sums)
    return compute / (machine.cores * machine.efficiency), sums


def size_text(rows: float) -> str:
    return f"{rows:.0e}".replace("e+0", "e").replace("e+", "e")


def machine_table(constants: Constants, machine: Machine) -> list[str]:
    """Return predicted times and efficiencies as Markdown."""
    protocols = list(constants.exchange)
    head = [f"ms per tree, {each} | efficiency, {each}" for each in protocols]
    lines = [
        "| rows | machines | GB per machine | compute, ms | " + " | ".join(head) + " |",
        "|---|---|---|---|" + "---|---|" * len(protocols),
    ]
    for rows in ROWS:
        alone = sum(tree_seconds(constants, constants.exchange[protocols[0]], rows, machine, 1))
        for p in MACHINES:
            cells = []
            for protocol in protocols:
                exchange = constants.exchange[protocol].over(machine.latency, machine.bandwidth)
                compute, sums = tree_seconds(constants, exchange, rows, machine, p)
                cells += [f"{1e3 * (compute + sums):.0f}", f"{alone / p / (compute + sums):.0%}"]
            memory = rows * ROW_BYTES / p / 1e9
            lines.append(
                f"| {size_text(rows)} | {p} | {memory:.3g} | {1e3 * compute:.1f} | "
                + " | ".join(cells)
                + " |"
            )
    return lines


def check_table(constants: Constants, results: dict[str, Any]) -> list[str]:
    """Return predicted and measured times of the fits of few rows and of many rows."""
    lines = ["| fit | predicted, ms per tree | measured | ÷ |", "|---|---|---|---|"]
    cores = results["machine"]["cores"]
    for part in ("overhead", "fits"):
        entries, settings = results["parts"][part]["entries"], results["parts"][part]["settings"]
        for name, m in medians(entries).items():
            library, protocol, p, container = fields(name)
            if library != "stagewise":
                continue
            shared = max(1.0, p / cores)  # p workers share the cores
            per_rank = settings["rows"] / p if part == "fits" else settings["rows_per_rank"]
            own = constants.exchange[protocol]
            exchange = Exchange(own.step, own.message * shared, own.byte * shared)
            one = Machine(1, 1 / shared, 0.0, float("inf"))
            measured = constants if part == "fits" else replace(constants, sums=constants.few_sums)
            ms = 1e3 * sum(tree_seconds(measured, exchange, per_rank * p, one, p))
            lines.append(
                f"| {per_rank:,.0f} rows × {p} workers, {protocol}, {container} | {ms:.1f} | "
                f"{m['tree_ms']:.1f} | {ms / m['tree_ms']:.2f} |"
            )
    return lines


def constant_lines(constants: Constants, machine: Machine) -> list[str]:
    """Return the constants as Markdown."""
    lines = [
        "| constant | value |",
        "|---|---|",
        f"| c, per row, feature and tree | {1e9 * constants.cell:.2f} ns of a core |",
        f"| the same in one process | {1e9 * constants.local_cell:.2f} ns of a core |",
        f"| S, search per tree | {1e3 * constants.search:.1f} ms of a core |",
        f"| sums per tree | {sum(n for _, n in constants.sums):.1f} |",
        f"| bytes of all of them | {sum(b * n for b, n in constants.sums) / 1e6:.2f} MB |",
    ]
    for protocol, own in constants.exchange.items():
        lines.append(
            f"| a, q, d of {protocol} | {1e6 * own.step:.0f} µs per step, "
            f"{1e6 * own.message:.0f} µs per message, {1e9 * own.byte:.2f} ns per byte |"
        )
    lines += [
        f"| k, e (assumed) | {machine.cores} cores, {machine.efficiency:g} |",
        f"| l, w (assumed) | {1e6 * machine.latency:.0f} µs, {machine.bandwidth / 1e9:g} GB/s |",
    ]
    return lines


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--results", type=Path, default=HERE / "results.json")
    parser.add_argument("--cores", type=int, default=16, help="of a machine")
    parser.add_argument("--efficiency", type=float, default=0.6, help="of the cores together")
    parser.add_argument("--latency", type=float, default=50.0, help="of the network, in µs")
    parser.add_argument("--gigabits", type=float, default=10.0, help="of the network, per second")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="where the tables are replaced")
    return parser.parse_args()


def tables(results: dict[str, Any], machine: Machine) -> str:
    """Return all tables."""
    constants = find_constants(results)
    return "\n".join(
        [
            *constant_lines(constants, machine),
            "",
            "Fits on one machine, whose cores the workers share:",
            "",
            *check_table(constants, results),
            "",
            "Predictions for machines; the efficiency is the time of one of them, divided by the",
            "number of machines and the time of all:",
            "",
            *machine_table(constants, machine),
        ]
    )


def write_tables(page: Path, text: str) -> None:
    """Replace the text between the marks of a page."""
    before, rest = page.read_text().split(BEGIN)
    after = rest.split(END)[1]
    page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


def main() -> None:
    args = parse()
    results = json.loads(args.results.read_text())
    machine = Machine(args.cores, args.efficiency, 1e-6 * args.latency, args.gigabits / 8 * 1e9)
    text = tables(results, machine)
    print(text)
    if args.write:
        write_tables(args.write, text)


if __name__ == "__main__":
    main()
