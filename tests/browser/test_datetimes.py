"""Dates and times on a page equal those of Python: text, numbers, ticks and typed values."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import pytest

from browser.conftest import watched
from report.reports import report_of
from stagewise.data.reading.cell import TEMPORAL_TYPES
from stagewise.data.reading.datetimes import (
    datetime_ticks,
    format_datetime,
    format_datetime_short,
    parse_datetime,
)
from stagewise.inspection.fitted_model import FittedModel
from stagewise.report.exported_model import export_model

DAY = 86_400 * 10**9
TEXTS = (
    "2024-03-01",
    " 2024-03-01 14:05 ",
    "2024-03-01T14:05:00.25Z",
    "2024-03-01 14:05:00.123456789+02:30",
    "2023-02-29",
    "2024-13-01",
    "2024-03-01 24:00",
    "3000-01-01",
    "0000-01-01",
    "24-03-01",
    "3 d 04:00:00",
    "3d",
    "-3 d 01:00",
    "76:00:00",
    "-00:00:00.000000001",
    "9999999 d",
    "-",
    "",
    "14:05",
    "23:59:59.999999999",
    "24:00",
    "14:5",
    "14:05:60",
    "tomorrow",
)


@pytest.fixture(scope="module")
def values():
    """Numbers of all sizes, integers and fractions, with ranges for rounding."""
    rng = np.random.default_rng(0)
    sizes = 2.0 ** rng.uniform(-2, 63.5, 500) * rng.choice([-1, 1], 500)
    sizes[::3] = sizes[::3] // DAY * DAY
    sizes[1::3] = sizes[1::3] // 10**6 * 10**6
    special = [0, -1, 5.5, -5.5, 2**62, 2.0**63, -(2.0**63), 1e300, -1e300, DAY - 1, 200 * DAY]
    numbers = [*map(float, special), *sizes.tolist()]
    return list(zip(numbers, rng.permutation(np.abs(numbers)).tolist(), strict=True))


def test_text_equals_that_of_python(lab, values):
    script = """([values, types]) => types.map((temporal_type) => values.map(([x, within]) => [
      Model.datetimes.format(x, temporal_type), Model.datetimes.format(x, temporal_type, within),
      ...[1, 4, 17].map((digits) => Model.datetimes.formatShort(x, temporal_type, digits))]))"""
    found = lab.evaluate(script, [values, list(TEMPORAL_TYPES)])
    for temporal_type, words in zip(TEMPORAL_TYPES, found, strict=True):
        assert words == [
            [
                format_datetime(x, temporal_type),
                format_datetime(x, temporal_type, within=within),
                *(format_datetime_short(x, temporal_type, digits) for digits in (1, 4, 17)),
            ]
            for x, within in values
        ]


def test_digits_of_any_width_and_invalid_numbers(lab):
    wide = [2**63 - 1, -(2**63), 2**63, 1_584_792_000_000_000_001]
    script = "(texts) => texts.map((x) => Model.datetimes.format(x, 'date'))"
    found = lab.evaluate(script, list(map(str, wide)))
    assert found == [format_datetime(number, "date") for number in wide]
    script = "() => [null, NaN, Infinity, -Infinity].map((x) => Model.datetimes.format(x, 'date'))"
    assert lab.evaluate(script) == ["missing", "missing", "inf", "-inf"]


def test_ticks_equal_those_of_python(lab, values):
    script = """([values, types]) => types.map((temporal_type) =>
      values.map(([x, range]) => Model.datetimes.ticks(x, x + range, temporal_type, 4)))"""
    ticks = lab.evaluate(script, [values, list(TEMPORAL_TYPES)])
    for temporal_type, found in zip(TEMPORAL_TYPES, ticks, strict=True):
        known = [datetime_ticks(x, x + size, temporal_type, 4) for x, size in values]
        assert [list(map(float, t)) for t in found] == [list(map(float, t)) for t in known]


def test_numbers_equal_those_of_python(lab):
    script = """([texts, types]) => types.map((temporal_type) =>
      texts.map((text) => Model.datetimes.parse(text, temporal_type)?.toString() ?? null))"""
    for temporal_type, found in zip(
        TEMPORAL_TYPES, lab.evaluate(script, [TEXTS, list(TEMPORAL_TYPES)]), strict=True
    ):
        assert found == [number(text, temporal_type) for text in TEXTS]
        assert any(found)
        assert not all(found)


def number(text, temporal_type):
    try:
        return str(parse_datetime(text, temporal_type))
    except ValueError:
        return None


def test_typed_values_are_encoded_as_in_python(lab):
    model = report_of("datetimes")[0]
    day = [dt.datetime(2020, 3, 21), dt.datetime(2020, 3, 21, 14, 5), None, dt.datetime(2019, 7, 1)]
    lasts = [dt.timedelta(days=3, hours=4), dt.timedelta(hours=76), None, dt.timedelta(seconds=-1)]
    at = [dt.time(14, 5), dt.time(0), None, dt.time(23, 59, 59, 5)]
    known = FittedModel.of(model, "").columns(pd.DataFrame({"day": day, "lasts": lasts, "at": at}))
    typed = [
        ["2020-03-21", "2020-03-21 14:05", "", "1561939200000000000"],
        ["3 d 04:00:00", "76:00", "missing", "-00:00:01"],
        ["14:05", "00:00:00", "NaN", "23:59:59.000005"],
    ]
    script = """async ([payload, typed]) => {
      const model = await Model.open(payload);
      return typed.map((texts, j) => texts.map((text) => model.encode(j, text)));
    }"""
    found = lab.evaluate(script, [export_model(model).payload(), typed])
    codes = [[cell["code"] for cell in column] for column in found]
    assert np.array_equal(codes, known, equal_nan=True)
    given = [["21.3.2020"], ["3 days"], ["2 pm"]]
    wrong = lab.evaluate(script, [export_model(model).payload(), given])
    assert [column[0]["error"].split(". Type one such as ")[0] for column in wrong] == [
        "day must be a date; got “21.3.2020”",
        "lasts must be a duration; got “3 days”",
        "at must be a time of day; got “2 pm”",
    ]


def test_a_page_shows_and_accepts_dates_and_times(browser, tmp_path):
    model, X, y, _ = report_of("datetimes")
    with watched(browser) as page:
        page.set_viewport_size({"width": 1280, "height": 900})
        page.goto(model.report(X, y, tmp_path / "datetimes.html").as_uri())
        page.wait_for_selector("html[data-ready]")
        field = page.locator(".field[data-feature='0'] input[type=text]")
        page.get_by_role("button", name="next row").last.click()
        row = int(page.evaluate("document.querySelector('#row select').value.match(/\\d+/)[0]"))
        assert field.input_value() == str(X["day"][row].date())
        field.fill("2020-06-01 12:00")
        page.locator(".field[data-feature='2'] input[type=text]").fill("07:30")
        changed = X.iloc[[row]].assign(day=pd.Timestamp("2020-06-01 12:00"), at=dt.time(7, 30))
        predicted = page.evaluate(
            "JSON.parse(document.querySelector('.prediction').dataset.values)"
        )
        np.testing.assert_allclose(predicted, model.predict(changed), rtol=1e-12)
        slider = page.locator(".field[data-feature='0'] input[type=range]")
        slider.evaluate("e => { e.value = e.max; e.dispatchEvent(new Event('input')); }")
        last = pd.Timestamp(field.input_value())
        assert X["day"].quantile(0.9) < last <= X["day"].max()
        field.fill("soon")
        assert "Type one such as 2024-03-01" in page.inner_text(".field[data-feature='0'] .error")
        shown = page.evaluate("document.querySelector('main').textContent")
        assert "day ≤ 2020-0" in shown
        page.locator("#dependence select").first.select_option("day")
        axis = page.locator("#dependence figure text.tick").all_text_contents()
        assert {"2019-07-01", "2020-01-01", "2020-07-01", "2021-01-01"} <= set(axis)
        assert "e18" not in shown
