"""Dates, durations and times of day: text, numbers, tables and models."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import struct
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from model_samples import datetime_features, make_model
from stagewise.data.features import Features
from stagewise.data.reading.cell import TEMPORAL_TYPES
from stagewise.data.reading.datetimes import (
    datetime_ticks,
    format_datetime,
    format_datetime_short,
    parse_datetime,
    temporal_type_of,
)
from stagewise.data.reading.table import read_table
from stagewise.errors import ModelFormatError
from stagewise.model.file.contents import pack, unpack
from stagewise.model.file.format import decode, encode

SECOND = 10**9
DAY = 86_400 * SECOND
UNITS = (1, 1000, 10**6, SECOND, 60 * SECOND, 3600 * SECOND, DAY)


@pytest.fixture(scope="module")
def numbers() -> list[int]:
    """Return nanoseconds of all sizes, round and not, and the limits."""
    rng = np.random.default_rng(0)
    sizes = 2.0 ** rng.uniform(0, 62, 400) * rng.choice([-1, 1], 400)
    round_ones = [int(x // unit) * unit for x, unit in zip(sizes, UNITS * 58, strict=False)]
    return [*round_ones, 0, -1, 1, DAY, -DAY, DAY - 1, 2**63 - 1, -(2**63) + 1]


# ---- text ----------------------------------------------------------------------------------------


def test_text_of_dates_equals_numpys(numbers):
    for number in numbers:
        whole, part = str(np.datetime64(number, "ns")).replace("T", " ").split(".")
        part = part.rstrip("0")
        expected = f"{whole}.{part}" if part else whole.removesuffix(" 00:00:00")
        assert format_datetime(number, "date") == expected


def test_text_of_durations_equals_the_components_of_pandas(numbers):
    for number in numbers:
        parts = pd.Timedelta(abs(number), "ns").components
        clock = f"{parts.hours:02}:{parts.minutes:02}:{parts.seconds:02}"
        fraction = f"{parts.milliseconds:03}{parts.microseconds:03}{parts.nanoseconds:03}"
        clock += f".{fraction}".rstrip("0").rstrip(".")
        days = f"{parts.days} d" if parts.days else ""
        expected = f"{days} {clock}".strip() if clock != "00:00:00" or not days else days
        assert format_datetime(number, "duration") == ("-" if number < 0 else "") + expected


def test_written_text_is_read_back(numbers):
    for temporal_type in ("date", "duration"):
        assert [
            parse_datetime(format_datetime(n, temporal_type), temporal_type) for n in numbers
        ] == numbers
    within = [n % DAY for n in numbers]
    again = [parse_datetime(format_datetime(n, "time of day"), "time of day") for n in within]
    assert again == within


def test_values_that_are_not_datetimes_have_a_text():
    for temporal_type in TEMPORAL_TYPES:
        assert (
            format_datetime(None, temporal_type)
            == format_datetime(np.nan, temporal_type)
            == "missing"
        )
        assert (
            format_datetime(np.inf, temporal_type) == format_datetime(1e300, temporal_type) == "inf"
        )
        assert (
            format_datetime(-np.inf, temporal_type)
            == format_datetime(-(2.0**64), temporal_type)
            == "-inf"
        )


def test_the_text_of_a_fractional_threshold_keeps_its_side():
    assert format_datetime(5.5, "duration") == "00:00:00.000000005"
    assert format_datetime(-5.5, "duration") == "-00:00:00.000000006"


@pytest.mark.parametrize(
    ("within", "words"),
    [
        (0, "2024-03-01 14:05:07.123456789"),
        (10**6, "2024-03-01 14:05:07.123457"),
        (1000 * SECOND, "2024-03-01 14:05:07"),
        (DAY, "2024-03-01 14:05:00"),
        (30 * DAY, "2024-03-01 14:00:00"),
        (3000 * DAY, "2024-03-02"),
    ],
)
def test_the_precision_of_text_follows_the_range(within, words):
    number = parse_datetime("2024-03-01 14:05:07.123456789", "date")
    assert format_datetime(number, "date", within=within) == words


def test_short_text_has_the_significant_digits():
    number = parse_datetime("2 d 01:11:31.998763776", "duration")
    assert format_datetime_short(number, "duration", 4) == "2 d 01:11:32"
    assert format_datetime_short(number, "duration", 17) == format_datetime(number, "duration")
    assert format_datetime_short(5 * SECOND + 123, "time of day", 4) == "00:00:05"
    day = parse_datetime("2024-03-01 00:00:00.5", "date")
    assert format_datetime_short(day, "date", 1) == "2024-03-01 00:00:00.5"


@pytest.mark.parametrize(
    ("text", "temporal_type", "number"),
    [
        ("2024-03-01T14:05Z", "date", 1_709_301_900 * SECOND),
        (" 2024-03-01 16:05+02:00 ", "date", 1_709_301_900 * SECOND),
        ("2024-03-01 13:05:00.25-0100", "date", 1_709_301_900 * SECOND + SECOND // 4),
        ("76:00:00", "duration", 76 * 3600 * SECOND),
        ("3d 04:00", "duration", 76 * 3600 * SECOND),
        ("-3 d", "duration", -3 * DAY),
        ("14:05", "time of day", (14 * 60 + 5) * 60 * SECOND),
    ],
)
def test_other_formats_are_read(text, temporal_type, number):
    assert parse_datetime(text, temporal_type) == number


@pytest.mark.parametrize(
    ("text", "temporal_type"),
    [
        ("2023-02-29", "date"),
        ("2024-3-1", "date"),
        ("2024-03-01 24:00", "date"),
        ("3000-01-01", "date"),
        ("1 March", "date"),
        ("2024-03-01", "duration"),
        ("", "duration"),
        ("-", "duration"),
        ("9999999 d", "duration"),
        ("24:00", "time of day"),
        ("14:60", "time of day"),
        ("٣ d", "duration"),
    ],
)
def test_text_that_is_not_a_datetime_is_an_error_with_an_example(text, temporal_type):
    with pytest.raises(ValueError, match=f"is not a {temporal_type}; write it as .* or "):
        parse_datetime(text, temporal_type)


# ---- ticks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("temporal_type", TEMPORAL_TYPES)
def test_ticks_are_few_and_inside_with_short_text(temporal_type):
    rng = np.random.default_rng(1)
    for size in 2.0 ** rng.uniform(10, 62, 200):
        middle = rng.uniform(-(2**61), 2**61) if temporal_type == "date" else 0.0
        ticks = datetime_ticks(middle - size / 2, middle + size / 2, temporal_type)
        assert 1 <= len(ticks) <= 7
        assert ticks == sorted(set(ticks))
        assert all(abs(t - middle) <= size / 2 + 1024 for t in ticks)
        gaps = np.diff(ticks)
        assert len(gaps) < 2 or gaps.max() <= 1.2 * gaps.min()  # months are of several lengths
    assert datetime_ticks(3.0, 3.0, temporal_type) == []


def test_ticks_of_dates_are_first_days_of_months():
    ends = [parse_datetime(text, "date") for text in ("2019-05-03", "2021-06-01")]
    texts = [format_datetime(t, "date") for t in datetime_ticks(*ends, "date")]
    assert texts == ["2019-07-01", "2020-01-01", "2020-07-01", "2021-01-01"]


# ---- columns and models --------------------------------------------------------------------------

STAMPS = [dt.datetime(2020, 1, 1), None, dt.datetime(2021, 5, 1, 12)]
LASTS = [dt.timedelta(hours=5), dt.timedelta(days=2), None]
TIMES = [None, dt.time(7), dt.time(19, 30)]
FRAME = {"day": STAMPS, "lasts": LASTS, "at": TIMES, "x": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame(FRAME),
        pd.DataFrame(FRAME).astype(object),
        pl.DataFrame(FRAME),
        pa.table(FRAME),
        pa.table(FRAME).to_pandas(types_mapper=pd.ArrowDtype),
        np.array(list(zip(*FRAME.values(), strict=True)), dtype=object),
        list(zip(*FRAME.values(), strict=True)),
    ],
    ids=["pandas", "objects", "polars", "pyarrow", "arrow in pandas", "array", "list"],
)
def test_every_library_gives_temporal_types(table):
    read = read_table(table, caller="a test")
    assert read.temporal_types == {0: "date", 1: "duration", 2: "time of day"}
    assert [f.temporal_type for f in Features.learn(read)] == [
        "date",
        "duration",
        "time of day",
        None,
    ]


def test_numpy_datetime_arrays():
    assert read_table(np.array([["2020-01-01"]], "M8[D]"), caller="").temporal_types == {0: "date"}
    assert read_table(np.array([[3]], "m8[s]"), caller="").temporal_types == {0: "duration"}
    assert read_table(np.array([[3]]), caller="").temporal_types == {}


def test_missing_datetime_markers_give_numbers_no_temporal_type():
    cells = np.array([1.5, np.datetime64("NaT")], dtype=object)
    assert temporal_type_of(cells) is None
    read = read_table(cells.reshape(-1, 1), caller="")
    assert read.temporal_types == {}
    assert np.array_equal(read.column(0).values, [1.5, np.nan], equal_nan=True)
    late = np.array([np.timedelta64("NaT"), dt.date(2020, 1, 1)], dtype=object)
    assert temporal_type_of(late) == "date"


def test_features_that_differ_in_temporal_types_only_are_equal():
    features = datetime_features()
    plain = [replace(f, temporal_type=None) for f in features]
    assert Features(features) == Features(plain)
    assert hash(Features(features)) == hash(Features(plain))
    one, two = (make_model(features=its) for its in (features, plain))
    assert one.fingerprint() == two.fingerprint()


def header_of(data: bytes) -> dict:
    return json.loads(data[24 : 24 + struct.unpack_from("<Q", data, 16)[0]])


def test_a_file_stores_temporal_types_in_an_optional_section():
    model = make_model(features=datetime_features())
    again, _ = decode(encode(model))
    assert [f.temporal_type for f in again.features] == [f.temporal_type for f in model.features]
    entries = {entry["name"]: entry for entry in header_of(encode(model))["sections"]}
    assert [name for name, entry in entries.items() if entry["optional"]] == ["feature_moment"]
    plain = make_model(features=[replace(f, temporal_type=None) for f in model.features])
    assert "feature_moment" not in {entry["name"] for entry in header_of(encode(plain))["sections"]}


def test_a_reader_without_temporal_types_reads_the_rest():
    model = make_model(features=datetime_features())
    data = encode(model)
    # The same bytes under an unknown section name, as this one is to an older reader.
    body = data.replace(b'"feature_moment"', b'"feature_memory"')[:-32]
    again, _ = decode(body + hashlib.sha256(body).digest())
    assert [f.temporal_type for f in again.features] == [None] * 4
    assert again.fingerprint() == model.fingerprint()


@pytest.mark.parametrize(
    ("datetimes", "words"),
    [
        ([1, 0, 2, 4], "temporal types of its features"),
        ([1, 0, 2], "temporal types of its features"),
        ([0, 0, 0, 0], "temporal types of its features"),
    ],
)
def test_invalid_temporal_types_are_refused(datetimes, words):
    facts, arrays = pack(make_model(features=datetime_features()), {})
    arrays["feature_moment"] = np.array(datetimes, dtype=np.uint8)
    with pytest.raises(ModelFormatError, match=words):
        unpack(facts, arrays)


def test_categories_and_unsigned_integers_have_no_temporal_type():
    for kind in (2, 3):
        facts, arrays = pack(make_model(features=datetime_features()), {})
        arrays["feature_kind"] = np.array([1, kind, 0, 0], dtype=np.uint8)
        arrays["feature_moment"] = np.array([1, 3, 0, 0], dtype=np.uint8)
        categories = {"level_start": np.zeros(5, np.uint64), "level_type": np.empty(0, np.uint8)}
        categories |= {"level_bits": np.empty(0, np.uint64), "level_text": np.empty(0, np.uint8)}
        with pytest.raises(ModelFormatError, match="not hold signed integers"):
            unpack(facts, {**arrays, **(categories if kind == 3 else {})})
