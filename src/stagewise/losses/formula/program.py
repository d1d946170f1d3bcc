"""A formula as a program of steps on registers; equal expressions are computed once.

The native core runs a program in float over strips of rows that stay in the cache, and NumPy runs
the same steps in float64. The order of `OPERATIONS` is that of native/kernels/api/formula.hpp.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from stagewise.losses.formula.expression import Expression, split_sign, symbol

__all__ = ["LARGEST_REGISTER", "Program", "compile_expressions"]

Vector = npt.NDArray[np.float64]
LARGEST_REGISTER = 95


def _log_cosh(x: Vector) -> Vector:
    size = np.abs(x)
    near = 0.5 * np.log1p(np.sinh(np.minimum(size, 1.0)) ** 2)
    far = size + np.log1p(np.exp(-2.0 * size)) - np.log(2.0)
    return np.asarray(np.where(size < 1.0, near, far))


OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "residual": np.subtract,
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "less": lambda a, b: np.less(a, b).astype(np.float64),
    "negate": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "sigmoid": expit,
    "softplus": lambda x: np.logaddexp(0.0, x),
    "log_cosh": _log_cosh,
    "decay": lambda x: np.exp(-np.abs(x)),
    "gate": lambda x, decay: np.where(x < 0.0, decay, 1.0),
    "raise": lambda x, decay: np.maximum(x, 0.0) + np.log1p(decay),
}
"""The operations. Of z, "decay" is e^-|z|, from which sigmoid and softplus of ±z follow."""
_PLACE = {name: place for place, name in enumerate(OPERATIONS)}
_TWO_OPERANDS = frozenset(
    {"residual", "add", "subtract", "multiply", "divide", "pow", "max", "min", "less", "gate"}
    | {"raise"}
)


@dataclass(frozen=True)
class Program:
    """Steps on registers: 0 has y, 1 has F, then come the constants.

    Attributes
    ----------
    steps : tuple of (operation, out, a, b)
        The steps; b is a where there is one operand.
    constants : tuple of float
        The constants.
    results : tuple of int
        The registers of the results.
    """

    steps: tuple[tuple[str, int, int, int], ...]
    constants: tuple[float, ...]
    results: tuple[int, ...]

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """The steps as numbers, for the core."""
        rows = [(_PLACE[name], out, a, b) for name, out, a, b in self.steps]
        return np.array(rows, dtype=np.uint8).reshape(-1)

    @cached_property
    def arguments(self) -> tuple[Any, ...]:
        """The program as the core takes it."""
        constants = np.array(self.constants, dtype=np.float32)
        return self.codes, constants, np.array(self.results, dtype=np.uint8)

    def run(self, y: Any, score: Any) -> list[Vector]:
        """Return the results for rows, in float64."""
        y, score = np.broadcast_arrays(
            np.asarray(y, dtype=np.float64), np.asarray(score, dtype=np.float64)
        )
        registers: dict[int, Any] = {0: y, 1: score}
        registers |= {2 + k: np.float64(c) for k, c in enumerate(self.constants)}
        with np.errstate(all="ignore"):
            for name, out, a, b in self.steps:
                operands = (
                    (registers[a], registers[b]) if name in _TWO_OPERANDS else (registers[a],)
                )
                registers[out] = OPERATIONS[name](*operands)
        return [
            np.array(np.broadcast_to(registers[own], score.shape), dtype=np.float64)
            for own in self.results
        ]


def compile_expressions(expressions: Sequence[Expression]) -> Program:
    """Return the program of expressions in y and f.

    Raises
    ------
    ValueError
        If they need more registers than the core has.
    """
    lowering = _Lowering()
    results = [lowering.of(expression) for expression in expressions]
    return lowering.program(results)


class _Lowering:
    """Virtual registers, one for each expression; `program` assigns the real ones."""

    def __init__(self) -> None:
        self.known: dict[Any, int] = {symbol("y"): 0, symbol("f"): 1}
        self.constants: list[float] = []
        self.steps: list[tuple[str, int, int, int]] = []
        self.next = 1000
        self.by_step: dict[tuple[str, int, int], int] = {}

    def step(self, name: str, a: int, b: int | None = None) -> int:
        b = a if b is None else b
        if name in ("add", "multiply", "max", "min") and b < a:
            a, b = b, a
        found = self.by_step.get((name, a, b))
        if found is None:
            found = self.by_step[name, a, b] = self.next
            self.steps.append((name, found, a, b))
            self.next += 1
        return found

    def constant(self, value: float) -> int:
        if value not in self.constants:
            self.constants.append(value)
        return 2 + self.constants.index(value)

    def of(self, a: Expression) -> int:
        if a not in self.known:
            made = {"sum": self.sum, "product": self.product, "call": self.call}.get(a[0])
            self.known[a] = self.constant(a[1]) if made is None else made(a)
        return self.known[a]

    def sum(self, a: Expression) -> int:
        terms = dict(a[2])
        y, f = symbol("y"), symbol("f")
        found: int | None = None
        if y in terms and terms.get(f) == -terms[y]:  # c (y - F)
            coefficient = terms.pop(y)
            del terms[f]
            found = self.scaled(self.step("residual", 0, 1), coefficient)
        # Positive terms first, so that the sum begins without a minus.
        for term, c in sorted(terms.items(), key=lambda pair: pair[1] < 0.0):
            own = self.of(term)
            if found is None:
                found = self.scaled(own, c)
            elif c < 0.0:
                found = self.step("subtract", found, self.scaled(own, -c))
            else:
                found = self.step("add", found, self.scaled(own, c))
        assert found is not None
        if a[1] == 0.0:
            return found
        if a[1] < 0.0:
            return self.step("subtract", found, self.constant(-a[1]))
        return self.step("add", found, self.constant(a[1]))

    def scaled(self, register: int, c: float) -> int:
        if c == 1.0:
            return register
        if c == -1.0:
            return self.step("negate", register)
        return self.step("multiply", register, self.constant(c))

    def product(self, a: Expression) -> int:
        above = [self.power(base, e) for base, e in a[2] if e > 0.0]
        below = [self.power(base, -e) for base, e in a[2] if e < 0.0]
        if not above:
            divisor = self.joined(below)
            return self.step("divide", self.constant(a[1]), divisor)
        found = self.scaled(self.joined(above), a[1])
        return self.step("divide", found, self.joined(below)) if below else found

    def joined(self, registers: list[int]) -> int:
        found = registers[0]
        for own in registers[1:]:
            found = self.step("multiply", found, own)
        return found

    def power(self, base: Expression, exponent: float) -> int:
        own = self.of(base)
        if exponent == 1.0:
            return own
        if exponent == 0.5:
            return self.step("sqrt", own)
        if exponent == round(exponent) and exponent <= 64:
            return self.whole_power(own, int(exponent))
        if exponent * 2 == round(exponent * 2) and exponent <= 32:
            whole = self.whole_power(own, int(exponent))
            return self.step("multiply", whole, self.step("sqrt", own))
        return self.step("pow", own, self.constant(exponent))

    def whole_power(self, own: int, exponent: int) -> int:
        if exponent == 1:
            return own
        half = self.whole_power(own, exponent // 2)
        square = self.step("multiply", half, half)
        return self.step("multiply", square, own) if exponent % 2 else square

    def call(self, a: Expression) -> int:
        name, arguments = a[1], a[2]
        if name in ("sigmoid", "softplus"):
            return self.logistic(name, arguments[0])
        if name in ("cosh", "sinh"):  # (e^x ± e^-x) / 2
            up = self.step("exp", self.of(arguments[0]))
            down = self.step("divide", self.constant(1.0), up)
            whole = self.step("add" if name == "cosh" else "subtract", up, down)
            return self.step("multiply", whole, self.constant(0.5))
        return self.step(name, *(self.of(x) for x in arguments))

    def logistic(self, name: str, argument: Expression) -> int:
        sign, z = split_sign(argument)
        base = self.of(z)
        decay = self.step("decay", base)
        own = base if sign > 0.0 else self.step("negate", base)
        if name == "softplus":
            return self.step("raise", own, decay)
        inverse = self.step(
            "divide", self.constant(1.0), self.step("add", self.constant(1.0), decay)
        )
        return self.step("multiply", self.step("gate", own, decay), inverse)

    def program(self, results: list[int]) -> Program:
        """Return the program with registers that are used again when their value is not needed."""
        last: dict[int, int] = {}
        for place, (_, _, a, b) in enumerate(self.steps):
            last[a] = last[b] = place
        first = 2 + len(self.constants)
        free: list[int] = []
        fresh, real = first, {k: k for k in range(first)}
        steps = []
        for place, (name, out, a, b) in enumerate(self.steps):
            mine = name, real[a], real[b]
            if free:  # never a register that the step reads
                real[out] = free.pop()
            else:
                real[out], fresh = fresh, fresh + 1
            ended = [x for x in {a, b} if x >= first and last[x] == place and x not in results]
            free.extend(real[x] for x in ended)
            steps.append((mine[0], real[out], mine[1], mine[2]))
        if fresh > LARGEST_REGISTER + 1:
            raise ValueError(
                f"The formula needs {fresh} numbers per row at a time; at most "
                f"{LARGEST_REGISTER + 1} are possible. Write a class derived from stagewise.Loss."
            )
        return Program(tuple(steps), tuple(self.constants), tuple(real[own] for own in results))
