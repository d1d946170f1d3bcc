"""How each kind of case is measured.

Libraries take turns. Each repeat runs all of them once, beginning with another one each time, so
that a slow period of the machine affects all equally. Before that every peer tries its own variants
on the same table and continues with its fastest. Results are plain dicts for JSON; report.py
interprets them.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import Any

from cases import Case
from machine import start_spinner, usable_cpus
from peers import OURS, PEERS
from team import JobError, Team

FIT_TIMEOUT = 900.0
# Fits shorter than this are tried several times when variants are compared, longer ones once.
SHORT_FIT = 0.5
# Above this many cells a point of a curve takes the variants of the point before it.
CHOOSE_CELLS = 10_000_000
# Peers may become very slow when a core is busy; one fit may take at most this long.
BUSY_TIMEOUT = 60.0

Choice = tuple[str, str]  # policy, variant
Log = Callable[[str], None]


class Measurement:
    """What all kinds of cases need: the workers, the participating peers, the threads."""

    def __init__(self, team: Team, peers: Sequence[str], threads: int, log: Log) -> None:
        self.team = team
        self.peers = list(peers)
        self.threads = threads
        self.log = log

    def participants(self, case: Case) -> list[str]:
        """Return the libraries, and modes of them, that offer the features of a case."""
        offers = {peer: PEERS[peer] for peer in self.peers}
        return [
            peer
            for peer, offer in offers.items()
            if case.kind in offer.kinds
            and offer.offers(case.way, case.loss)
            and (offer.reads_sparse or not case.sparse)
        ]

    def run(self, case: Case) -> dict[str, Any]:
        """Measure a case by the method of its kind."""
        kinds = {
            "fit": self.fit_case,
            "busy": self.busy_case,
            "memory": self.memory_case,
            "scaling": self.scaling_case,
            "one-row": self.one_row_case,
        }
        return kinds[case.kind](case)

    # --- choosing a variant --------------------------------------------------------------------

    def choose(self, case: Case, peer: str, threads: int) -> Choice | None:
        """Return the fastest variant of this peer for the case, None if it has none.

        A peer with a single variant is run too, so that all are equally warm in the timed rounds.
        """
        best: tuple[float, Choice] | None = None
        candidates = [(p, v) for p in PEERS[peer].policies for v in PEERS[peer].variants]
        for policy, variant in candidates:
            patience = FIT_TIMEOUT if best is None else max(20.0, 4.0 * best[0])
            try:
                seconds = self._time(case, peer, policy, variant, threads, patience)
                for _ in range(case.trials - 1 if seconds < SHORT_FIT else 0):
                    again = self._time(case, peer, policy, variant, threads, patience)
                    seconds = min(seconds, again)
            except JobError as failure:
                self.log(f"    {peer} ({variant or 'as it is'}, {policy}): {failure}")
                continue
            if best is None or seconds < best[0]:
                best = (seconds, (policy, variant))
        for policy in PEERS[peer].policies:
            if best is None or policy != best[1][0]:
                self.team.drop(peer, policy)
        return best[1] if best else None

    def _time(
        self, case: Case, peer: str, policy: str, variant: str, threads: int, patience: float
    ) -> float:
        seconds: float = self._fit(case, peer, (policy, variant), 0, threads, patience)["seconds"]
        return seconds

    def _fit(
        self, case: Case, peer: str, choice: Choice, repeat: int, threads: int, patience: float
    ) -> dict[str, Any]:
        policy, variant = choice
        return self.team.request(
            patience, "fit", peer, policy, case, repeat % case.draws,
            threads=threads, seed=repeat, variant=variant,
        )  # fmt: skip

    # --- the kinds -----------------------------------------------------------------------------

    def fit_case(self, case: Case) -> dict[str, Any]:
        """Seconds and held-out loss of whole fits."""
        threads = case.threads or self.threads
        choices = self._choices(case, threads)
        self.team.foreign_share()  # the time of choosing does not count
        entries = self._rounds(case, choices, case.repeats, threads, FIT_TIMEOUT)
        return {"threads": threads, "entries": entries, "foreign": self.team.foreign_share()}

    def _choices(self, case: Case, threads: int) -> dict[str, Choice]:
        choices = {}
        for peer in self.participants(case):
            choice = self.choose(case, peer, threads)
            if choice is not None:
                choices[peer] = choice
        return choices

    def _rounds(
        self, case: Case, choices: dict[str, Choice], repeats: int, threads: int, patience: float
    ) -> list[dict[str, Any]]:
        entries = {
            peer: {"peer": peer, "policy": policy, "variant": variant,
                   "seconds": [], "loss": [], "peak_mb": [], "failed": ""}
            for peer, (policy, variant) in choices.items()
        }  # fmt: skip
        names = list(choices)
        for repeat in range(repeats):
            turn = repeat % max(1, len(names))
            for peer in names[turn:] + names[:turn]:
                entry: Any = entries[peer]
                if entry["failed"]:
                    continue
                try:
                    measured = self._fit(case, peer, choices[peer], repeat, threads, patience)
                except JobError as failure:
                    entry["failed"] = str(failure)
                    self.log(f"    {peer}: {failure}")
                    continue
                for key in ("seconds", "loss", "peak_mb"):
                    entry[key].append(measured[key])
        for peer, entry in entries.items():
            if entry["seconds"]:
                self.log(f"    {peer}: {statistics.median(entry['seconds']):.3f} s")
        return list(entries.values())

    def busy_case(self, case: Case) -> dict[str, Any]:
        """One and all threads on a quiet machine, then all threads while one core is busy.

        Libraries run with the default OpenMP policy; the times of the peers have no goal.
        """
        choices = {peer: ("default", PEERS[peer].variants[0]) for peer in self.participants(case)}
        quiet_one = self._rounds(case, choices, case.repeats, 1, FIT_TIMEOUT)
        quiet_all = self._rounds(case, choices, case.repeats, self.threads, FIT_TIMEOUT)
        foreign = self.team.foreign_share()
        spinner = start_spinner(usable_cpus()[-1], 86_400.0)
        try:
            self.log("    one core is now busy")
            busy_one = self._rounds(case, choices, case.repeats, 1, BUSY_TIMEOUT)
            busy_all = self._rounds(case, choices, case.repeats, self.threads, BUSY_TIMEOUT)
        finally:
            spinner.kill()
            spinner.communicate()
        self.team.foreign_share()
        return {
            "threads": self.threads,
            "quiet_one": quiet_one,
            "quiet_all": quiet_all,
            "busy_one": busy_one,
            "busy_all": busy_all,
            "foreign": foreign,
        }

    def memory_case(self, case: Case) -> dict[str, Any]:
        """Peak memory of a fit beyond the input: every variant in a new process."""
        entries = []
        for peer in self.participants(case):
            tried = []
            for variant in PEERS[peer].variants:
                self.team.close()
                try:
                    measured = self._fit(
                        case, peer, ("default", variant), 0, self.threads, FIT_TIMEOUT
                    )
                except JobError as failure:
                    self.log(f"    {peer} ({variant}): {failure}")
                    continue
                tried.append((measured["peak_mb"], variant))
            if tried:
                peak, variant = min(tried)
                entries.append({"peer": peer, "variant": variant, "peak_mb": peak})
                self.log(f"    {peer}: {peak:.0f} MB ({variant})")
        self.team.close()
        return {"threads": self.threads, "entries": entries, "input_mb": case.input_mb}

    def scaling_case(self, case: Case) -> dict[str, Any]:
        """Seconds at each point of a curve."""
        curves: dict[str, list[float | None]] = {peer: [] for peer in self.participants(case)}
        losses: dict[str, list[float | None]] = {peer: [] for peer in self.participants(case)}
        choices: dict[str, Choice] = {}
        for point in case.points:
            here = case.at(point)
            self.log(f"  {case.vary} = {point}")
            if not choices or here.rows * here.features <= CHOOSE_CELLS:
                choices = self._choices(here, self.threads)
            repeats = case.repeats if here.rows * here.features <= CHOOSE_CELLS else 1
            entries = self._rounds(here, choices, repeats, self.threads, FIT_TIMEOUT)
            found = {entry["peer"]: entry for entry in entries if entry["seconds"]}
            for peer, curve in curves.items():
                entry = found.get(peer)
                curve.append(statistics.median(entry["seconds"]) if entry else None)
                losses[peer].append(statistics.fmean(entry["loss"]) if entry else None)
            for peer, (policy, _) in choices.items():
                self.team.drop(peer, policy)
        return {
            "threads": self.threads,
            "vary": case.vary,
            "points": list(case.points),
            "curves": curves,
            "losses": losses,
            "foreign": self.team.foreign_share(),
        }

    def one_row_case(self, case: Case) -> dict[str, Any]:
        """Nanoseconds of predicting one row, one thread each."""
        names = self.participants(case)
        entries: dict[str, dict[str, Any]] = {
            peer: {"peer": peer, "ns": [], "failed": ""} for peer in names
        }
        for repeat in range(case.repeats):
            turn = repeat % max(1, len(names))
            for peer in names[turn:] + names[:turn]:
                if entries[peer]["failed"]:
                    continue
                try:
                    measured = self.team.request(
                        FIT_TIMEOUT, "one_row", peer, "single", case, 0,
                        threads=1, seed=0, variant=PEERS[peer].variants[0],
                    )  # fmt: skip
                except JobError as failure:
                    entries[peer]["failed"] = str(failure)
                    self.log(f"    {peer}: {failure}")
                    continue
                entries[peer]["ns"].append(measured["ns"])
        for peer, entry in entries.items():
            if entry["ns"]:
                self.log(f"    {peer}: {statistics.median(entry['ns']) / 1000:.2f} µs")
        return {"threads": 1, "entries": list(entries.values())}


def available(team: Team, wanted: Sequence[str], log: Log) -> list[str]:
    """Return the peers whose library can be imported; log those that cannot."""
    found = []
    for peer in wanted:
        try:
            team.start_worker(peer, "default")
        except JobError as failure:
            role = "the library itself" if peer == OURS else "a peer"
            log(f"left out {peer} ({role}): {failure}")
            continue
        found.append(peer)
    return found
