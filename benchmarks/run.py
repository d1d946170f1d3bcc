"""Measure Stagewise against its peers and write RESULTS.md (what ``make bench`` runs).

Each finished case is stored at once in results.json and the page is written from that file, so
cases may be measured one by one and an aborted run loses only its last case.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import machine
from cases import CASES, Case, covertype_table
from measure import Measurement, available
from peers import OURS, PEERS
from team import TableStore, Team

from report import quality_failures, write_page

HERE = Path(__file__).parent
# Version of results.json; increases when older figures can no longer be read.
FORMAT = 1


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="tiny tables; shows that all runs")
    parser.add_argument("--only", nargs="+", metavar="CASE", help="these cases (see --list)")
    parser.add_argument("--peers", nargs="+", metavar="PEER", help="these libraries, and ours")
    parser.add_argument("--repeats", type=int, help="timed rounds a case (else each case's own)")
    parser.add_argument("--threads", type=int, help="threads (else all cores)")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder with covertype.parquet")
    parser.add_argument("--list", action="store_true", help="list cases and libraries, then stop")
    parser.add_argument("--report-only", action="store_true", help="make the page again, then stop")
    parser.add_argument("--verbose", action="store_true", help="show what the libraries print")
    args = parser.parse_args()
    for given, known, word in (
        (args.only, [case.name for case in CASES], "case"),
        (args.peers, list(PEERS), "library"),
    ):
        for name in given or ():
            if name not in known:
                parser.error(f"there is no {word} {name!r}; known: {', '.join(known)}")
    if args.repeats is not None and args.repeats < 1:
        parser.error("--repeats must be 1 or more")
    return args


def chosen_cases(args: argparse.Namespace) -> list[Case]:
    cases = [case for case in CASES if not args.only or case.name in args.only]
    if args.data:
        real = covertype_table(args.data)
        cases = [replace(c, make=real) if c.name == "classes-7" else c for c in cases]
    if args.quick:
        cases = [case.quick() for case in cases]
    if args.repeats:
        cases = [replace(c, repeats=args.repeats) for c in cases]
    return cases


def read_results(path: Path, described: dict[str, Any]) -> dict[str, Any]:
    """Return earlier results to add to, unless they come from another machine."""
    if path.exists():
        earlier: dict[str, Any] = json.loads(path.read_text())
        same = all(earlier["machine"][key] == described[key] for key in ("processor", "cores"))
        if same and earlier.get("format") == FORMAT:
            merged = earlier["machine"]["versions"] | described["versions"]
            described = {**described, "versions": merged}
            return {"format": FORMAT, "machine": described, "cases": earlier["cases"]}
        print("earlier results come from another machine or program: starting afresh")
    return {"format": FORMAT, "machine": described, "cases": {}}


def measure_all(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    threads = args.threads or len(machine.usable_cpus())
    for doubt in machine.check_quiet(load_too=True):
        print(f"WARNING: the machine is busy ({doubt}); times will be marked as doubtful")
    with tempfile.TemporaryDirectory(prefix="stagewise-bench-") as scratch:
        tables = TableStore(Path(scratch) / "tables")
        team = Team(tables, verbose=args.verbose)
        try:
            wanted = [p for p in PEERS if p == OURS or not args.peers or p in args.peers]
            peers = available(team, wanted, print)
            path = folder / "results.json"
            results = read_results(path, machine.describe(team.versions))
            measurement = Measurement(team, peers, threads, print)
            for case in chosen_cases(args):
                results["cases"][case.name] = measure_one(measurement, case, args)
                tables.remove_all()
                path.write_text(json.dumps(results, indent=1) + "\n")
                write_page(results, folder)
        finally:
            team.close()
    return results


def measure_one(measurement: Measurement, case: Case, args: argparse.Namespace) -> dict[str, Any]:
    start = time.monotonic()
    print(f"{case.name}: {case.title}" + (" [quick: reduced]" if args.quick else ""), flush=True)
    doubts = machine.check_quiet()
    for doubt in doubts:
        print(f"  WARNING: the machine is busy ({doubt})")
    result = measurement.run(case)
    print(f"  took {time.monotonic() - start:.0f} s", flush=True)
    real_data = bool(args.data) and case.name == "classes-7"
    today = dt.date.today().isoformat()
    settings = {"trees": case.trees, "rows": case.rows, "features": case.features}
    return {"when": today, **settings, "doubts": doubts, "real_data": real_data, **result}


def main() -> int:
    args = parse()
    if args.list:
        for case in CASES:
            print(f"{case.name:18} {case.title}")
        print(f"libraries: {', '.join(PEERS)}")
        return 0
    # The times of a quick run are meaningless and must not overwrite real ones.
    folder = HERE / "quick" if args.quick else HERE
    folder.mkdir(exist_ok=True)
    if args.report_only:
        results = json.loads((folder / "results.json").read_text())
        write_page(results, folder)
    else:
        results = measure_all(args, folder)
    print(f"wrote {folder.name}/RESULTS.md")
    failures = quality_failures(results)
    for failure in failures:
        print(f"QUALITY FAILED  {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
