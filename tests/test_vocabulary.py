"""Abandoned private terms do not come back: the field has a word for each of them.

A failure names the file, the line and the word to use instead. A term that must stay (a key of old
model files, a quotation) is listed in `EXCEPTIONS` with its reason.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FOLDERS = ("src", "native", "docs", "examples", "tests", "benchmarks", "tools")
SKIPPED = (
    "tests/test_vocabulary.py",  # has the terms themselves
)
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")
ENDINGS = (".py", ".pyi", ".md", ".hpp", ".cpp", ".js", ".css", ".html", ".sh")


@dataclass(frozen=True)
class Term:
    """A pattern that must not occur as a whole word, and the word to use instead."""

    pattern: str
    instead: str
    folders: tuple[str, ...] = (*FOLDERS, *PAGES)


CODE = ("src", "native")
TERMS = (
    # identifiers
    Term("Committee", "ForestGrower (native), BaseBagging (Python)"),
    Term("Ballot", "PredictionKind"),
    Term("LeftOut", "OutOfSample"),
    Term("WordFinder", "PackedGradientFinder"),
    Term("Contest", "BlockedArgmax"),
    Term("Desk|Bench", "Workspace"),
    Term("LevelSets?|level_sets", "CategorySets, category_sets"),
    Term("LevelSearch", "SymmetricSearch"),
    Term("LevelRules|LevelSource", "CategoryRules, CategorySource"),
    Term("levels_per_column", "n_categories_per_column"),
    Term("level_(smoothing|l2|chance)", "category_smoothing, category_l2, category_chance"),
    Term("LearnedStatistics", "TargetEncodings"),
    Term("Moment", "TemporalType"),
    Term("TreeGrowth|EstimatorGrowth|ComponentGrowth", "BoundTree, BoundEstimator, …"),
    Term("Carried", "ExportedModel"),
    Term("Absence", "DroppedRounds"),
    Term("Patience", "EarlyStopping"),
    Term("Twin", "reference"),
    Term("on_unseen", "handle_unknown"),
    Term("first_use|first_use_penalty", "feature_penalty"),
    Term("put_in_order", "enforce_monotone"),
    Term("to_the_end", "grow_until_pure"),
    Term("most_together", "max_interaction_order"),
    Term("both_ways", "fractional rows"),
    Term("columns_per_(node|tree|level|member)", "max_features, FeatureSampling"),
    Term("goss_top|goss_other|mvs_lambda", "Goss(top=, other=), Mvs(regularization=)"),
    Term("drop_rate|skip_drop|drop_normalization", "Dart(rate=, skip=, normalization=)"),
    Term("stopped_because", "stop_reason"),
    Term("values_unseen", "unknown_category_counts"),
    Term("values_taken_as_missing", "missing_value_counts"),
    Term("features_known_only_as_missing", "constant_or_missing_features"),
    Term("judged_by_held_out_rows", "used_validation_rows"),
    Term("oob_path_|member_errors_|estimators_columns_", "oob_loss_, estimator_errors_, …"),
    # prose
    Term(
        r"(?<![Cc]ross-validation )(?<!cross_validation_)committees?(?!\.(?:md|py|png))",
        'ensemble, forest, bagging; only "cross-validation committee" is a term of the literature',
    ),
    Term("says?|said|saying", "predicts, returns, is, has; weight (of a vote)"),
    Term("tells?|told", "returns, reports; encoded (of rows); distinguishes"),
    Term("speaks?|spoke|spoken", "predicts, refers to"),
    Term("judges?|judged", "measured by, compared with, chosen by"),
    Term("hears?|heard", "used, respected, unknown"),
    Term("knows", "has, contains, was fitted to"),
    Term("asks|asked", "tests (a node, a feature), requests, calls"),
    Term("questions?", "split, condition", CODE),
    Term("answers?|answered", "prediction, result, message"),
    Term("worth", "importance, value; is faster"),
    Term("nobody|somebody|anybody|everybody", "name the thing: caller, user, no row, any tree"),
    Term("(?<!people )(?<!users )(?<!callers, )who", "name the thing: which row, which tree"),
    Term("unseen", "unknown (category), out-of-bag or held-out (row)"),
    Term(
        "levels of (?!a tree|the tree)|no level|commonest level",
        "categories of, unknown category, most frequent",
    ),
    Term("moments?", "datetime, temporal value; sums, cross products (of linear leaves)"),
    Term("columns? of statistics|levels say", "target-encoded column, target encoding"),
    Term("missing cells?", "missing value"),
    Term("alike", "equal, the same, stratified"),
    Term("twins?", "reference, copy"),
    Term("credits?", "attribution, Shapley value", CODE),
    Term("looks at|looked at", "reads, evaluates, tests"),
    Term("settled?|settles", "set, chosen, computed"),
    Term("as ever|as usual|of old", "as before, as in …; or nothing"),
    Term("[Tt]he one idea|One idea:|[Mm]ust not know", "a plain sentence"),
)

OLD_FILES = "keys of model files that older versions wrote"
EXCEPTIONS = {
    # path, or folder with a slash at the end: terms that may occur there, and why
    "src/stagewise/estimators/parameters/saved_parameters.py": (
        (
            "on_unseen",
            "first_use|first_use_penalty",
            "to_the_end",
            "most_together",
            "columns_per_(node|tree|level|member)",
            "level_(smoothing|l2|chance)",
            "goss_top|goss_other|mvs_lambda",
            "drop_rate|skip_drop|drop_normalization",
        ),
        OLD_FILES,
    ),
    "src/stagewise/model/": (("LevelSets?|level_sets", "moments?"), OLD_FILES),
    "src/stagewise/inspection/dependence/traversal.py": (("LevelSets?|level_sets",), OLD_FILES),
    "src/stagewise/report/exported_model.py": (("LevelSets?|level_sets",), OLD_FILES),
    "src/stagewise/data/reading/column_names.py": (
        ("unseen",),
        "scikit-learn's message, which it compares",
    ),
    "docs/file-format.md": (("LevelSets?|level_sets", "moments?"), OLD_FILES),
    "docs/coming-from.md": (
        ("drop_rate|skip_drop|drop_normalization",),
        "parameters of LightGBM and XGBoost",
    ),
    "docs/methods/committees.md": (
        (r"(?<![Cc]ross-validation )(?<!cross_validation_)committees?(?!\.(?:md|py|png))",),
        "the word of the lecture notes, which the page translates",
    ),
    "src/stagewise/validation/foreign_names.py": (
        ("drop_rate|skip_drop|drop_normalization",),
        "parameters of LightGBM and XGBoost",
    ),
    "tests/estimators/test_options.py": (
        ("first_use|first_use_penalty", "drop_rate|skip_drop|drop_normalization"),
        "names whose error messages it tests",
    ),
    "tests/estimators/test_foreign_names.py": (
        ("drop_rate|skip_drop|drop_normalization",),
        "parameters of LightGBM and XGBoost",
    ),
    "tests/unit/test_model_file_versions.py": (
        ("columns_per_(node|tree|level|member)",),
        OLD_FILES,
    ),
    "tests/unit/test_features.py": (("unseen",), "scikit-learn's message"),
    "tests/inspection/test_invalid_input.py": (("unseen",), "scikit-learn's message"),
    "tests/estimators/test_catalogue_predict.py": (("unseen",), "scikit-learn's message"),
    "tools/figures/": (
        (r"(?<![Cc]ross-validation )(?<!cross_validation_)committees?(?!\.(?:md|py|png))",),
        "figures of docs/methods/committees.md and of cross-validation committees",
    ),
}


@cache
def searched_files(folders: tuple[str, ...]) -> list[Path]:
    found = [ROOT / name for name in folders if name in PAGES]
    for name in folders:
        if name not in PAGES:
            found += [p for p in (ROOT / name).rglob("*") if p.suffix in ENDINGS and p.is_file()]
    return sorted(p for p in found if not p.relative_to(ROOT).as_posix().startswith(SKIPPED))


def is_excepted(path: str, term: Term) -> bool:
    return any(
        term.pattern in patterns
        and (path == where or (where[-1] == "/" and path.startswith(where)))
        for where, (patterns, _) in EXCEPTIONS.items()
    )


@cache
def lines_of(file: Path) -> list[str]:
    """Return the lines of a file; the names of tests are followed by their words."""
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines):
        if name := re.match(r"def test_(\w+)", line):
            words = name[1].replace("cross_validation", "cross-validation").replace("_", " ")
            lines[number] = f"{line}  # {words}"
    return lines


def uses(term: Term) -> list[str]:
    """Return every line with the term, as path:line: text."""
    pattern = re.compile(rf"(?<!\w)(?:{term.pattern})(?!\w)")
    found = []
    for file in searched_files(term.folders):
        path = file.relative_to(ROOT).as_posix()
        if is_excepted(path, term) or not pattern.search("\n".join(lines_of(file))):
            continue
        for number, line in enumerate(lines_of(file), start=1):
            if pattern.search(line):
                found.append(f"{path}:{number}: {line.strip()[:100]}")
    return found


@pytest.mark.parametrize("term", TERMS, ids=lambda term: term.pattern)
def test_an_abandoned_term_does_not_occur(term):
    found = uses(term)
    listed = "\n".join(found)
    assert not found, f"instead of {term.pattern!r} write: {term.instead}\n{listed}"


def test_every_exception_names_a_term_and_an_existing_file():
    patterns = {term.pattern for term in TERMS}
    for where, (excepted, _) in EXCEPTIONS.items():
        assert (ROOT / where).exists(), where
        assert set(excepted) <= patterns, where
