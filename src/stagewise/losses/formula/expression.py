"""Expressions in a canonical form: sums, products and functions, as nested tuples.

Equal expressions are equal tuples, so common parts are found by a dictionary. The constructors
simplify: numbers are folded, equal terms and factors are collected, and functions of exponentials
become ones that neither overflow nor lose digits, such as softplus for log(1 + e^z).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

__all__ = [
    "Expression",
    "add",
    "call",
    "derivative",
    "divide",
    "multiply",
    "names_of",
    "negate",
    "number",
    "power",
    "split_sign",
    "substitute",
    "subtract",
    "symbol",
    "text",
]

Expression = tuple[Any, ...]
"""("number", v), ("symbol", name), ("sum", constant, ((term, coefficient), …)),
("product", coefficient, ((base, exponent), …)) or ("call", function, arguments)."""

EVEN = frozenset({"abs", "cosh", "log_cosh"})
ODD = frozenset({"sign", "sinh", "tanh"})


def number(value: float) -> Expression:
    """Return a number."""
    return ("number", float(value))


def symbol(name: str) -> Expression:
    """Return a symbol."""
    return ("symbol", name)


ZERO, ONE = number(0.0), number(1.0)


def _key(pair: tuple[Expression, float]) -> str:
    return repr(pair[0])


def add(*terms: Expression) -> Expression:
    """Return a sum."""
    constant, found = 0.0, dict[Expression, float]()
    for term in terms:
        for own, coefficient in _terms(term):
            if own == ONE:
                constant += coefficient
            else:
                found[own] = found.get(own, 0.0) + coefficient
    kept = tuple(sorted(((t, c) for t, c in found.items() if c != 0.0), key=_key))
    if not kept:
        return number(constant)
    if constant == 0.0 and len(kept) == 1:
        return multiply(number(kept[0][1]), kept[0][0])
    whole = ("sum", constant, kept)
    return _special_sum(whole)


def _terms(term: Expression) -> list[tuple[Expression, float]]:
    if term[0] == "number":
        return [(ONE, term[1])]
    if term[0] == "sum":
        return [(ONE, term[1]), *term[2]]
    if term[0] == "product" and term[1] != 1.0:
        return [(_product(1.0, dict(term[2])), term[1])]
    return [(term, 1.0)]


def _special_sum(whole: Expression) -> Expression:
    """Return e^z - 1 and 1 - sigmoid(z) as functions without a difference of close numbers."""
    _, constant, terms = whole
    if len(terms) == 1:
        (term, coefficient) = terms[0]
        if term[:2] == ("call", "exp") and constant == -coefficient:
            return multiply(number(coefficient), call("expm1", term[2][0]))
        if term[:2] == ("call", "sigmoid") and constant == -coefficient:
            return multiply(number(constant), call("sigmoid", negate(term[2][0])))
    return whole


def multiply(*factors: Expression) -> Expression:
    """Return a product."""
    coefficient, found = 1.0, dict[Expression, float]()
    for factor in factors:
        if factor[0] == "number":
            coefficient *= factor[1]
            continue
        own = dict(factor[2]) if factor[0] == "product" else {factor: 1.0}
        coefficient *= factor[1] if factor[0] == "product" else 1.0
        for base, exponent in own.items():
            if base[0] == "sum":
                sign, base = split_sign(base)
                coefficient *= sign if exponent % 2 == 1 else 1.0
            found[base] = found.get(base, 0.0) + exponent
    return _product(coefficient, found)


def _product(coefficient: float, found: Mapping[Expression, float]) -> Expression:
    if coefficient == 0.0:
        return ZERO
    kept = {base: exponent for base, exponent in found.items() if exponent != 0.0}
    powers = [(b, e) for b, e in kept.items() if b[:2] == ("call", "exp")]
    if len(powers) > 1 or (powers and powers[0][1] != 1.0):  # e^a e^b = e^(a+b)
        whole = add(*(multiply(number(e), b[2][0]) for b, e in powers))
        rest = {b: e for b, e in kept.items() if b[:2] != ("call", "exp")}
        return multiply(number(coefficient), call("exp", whole), ("product", 1.0, _sorted(rest)))
    logistic = _logistic(coefficient, kept)
    if logistic is not None:
        return logistic
    if not kept:
        return number(coefficient)
    if len(kept) == 1:
        ((base, exponent),) = kept.items()
        if exponent == 1.0 and coefficient == 1.0:
            return base
        if exponent == 1.0 and base[0] == "sum":  # a number times a sum
            terms = tuple((t, coefficient * c) for t, c in base[2])
            return ("sum", coefficient * base[1], terms)
    return ("product", coefficient, _sorted(kept))


def _sorted(found: Mapping[Expression, float]) -> tuple[tuple[Expression, float], ...]:
    return tuple(sorted(found.items(), key=_key))


def _logistic(coefficient: float, kept: Mapping[Expression, float]) -> Expression | None:
    """Return c / (1 + e^z) or c e^z / (1 + e^z) with a sigmoid, if a product has this form."""
    for base, exponent in kept.items():
        if base[0] != "sum" or exponent >= 0.0 or len(base[2]) != 1:
            continue
        (term, factor) = base[2][0]
        if term[:2] != ("call", "exp") or base[1] <= 0.0 or factor <= 0.0:
            continue
        z = add(term[2][0], number(math.log(factor / base[1])))
        rest = {b: e for b, e in kept.items() if b != base}
        own: Expression = call("sigmoid", negate(z))
        scale = coefficient / base[1]
        if term in rest and exponent == -1.0 and rest[term] == 1.0:
            del rest[term]
            own, scale = call("sigmoid", z), coefficient / factor
        rest_product = ("product", 1.0, _sorted(rest)) if rest else ONE
        return multiply(number(scale), power(own, -exponent), rest_product)
    return None


def negate(a: Expression) -> Expression:
    """Return -a."""
    return multiply(number(-1.0), a)


def subtract(a: Expression, b: Expression) -> Expression:
    """Return a - b."""
    return add(a, negate(b))


def divide(a: Expression, b: Expression) -> Expression:
    """Return a / b."""
    return multiply(a, power(b, -1.0))


def power(base: Expression, exponent: float) -> Expression:
    """Return a power with a constant exponent."""
    if exponent == 0.0:
        return ONE
    if exponent == 1.0:
        return base
    if base[0] == "number":
        return number(_constant_power(base[1], exponent))
    if base[0] == "product":
        whole = exponent == round(exponent)
        if whole or (base[1] > 0.0 and len(base[2]) == 1 and base[2][0][1] % 2 == 1):
            inner = {b: e * exponent for b, e in base[2]}
            return multiply(
                number(_constant_power(base[1], exponent)), ("product", 1.0, _sorted(inner))
            )
    return multiply(("product", 1.0, ((base, exponent),)))


def _constant_power(base: float, exponent: float) -> float:
    try:
        found = base**exponent
    except (ZeroDivisionError, OverflowError) as error:
        raise ValueError(f"{base:g} ** {exponent:g} is not a finite number") from error
    if isinstance(found, complex) or not math.isfinite(found):
        raise ValueError(f"{base:g} ** {exponent:g} is not a finite real number")
    return float(found)


def split_sign(a: Expression) -> tuple[float, Expression]:
    """Return (1, a) or (-1, -a), whichever begins without a minus."""
    if a[0] == "number" and a[1] < 0.0:
        return -1.0, number(-a[1])
    if a[0] == "product" and a[1] < 0.0:
        return -1.0, _product(-a[1], dict(a[2]))
    if a[0] == "sum" and a[2][0][1] < 0.0:
        return -1.0, ("sum", -a[1], tuple((t, -c) for t, c in a[2]))
    return 1.0, a


_OF_NUMBERS: Mapping[str, Callable[..., float]] = {
    "abs": abs,
    "cosh": math.cosh,
    "exp": math.exp,
    "expm1": math.expm1,
    "log": math.log,
    "log1p": math.log1p,
    "max": max,
    "min": min,
    "sinh": math.sinh,
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}


def call(name: str, *arguments: Expression) -> Expression:
    """Return a function of expressions."""
    if name in _OF_NUMBERS and all(a[0] == "number" for a in arguments):
        try:
            return number(_OF_NUMBERS[name](*(a[1] for a in arguments)))
        except (ValueError, OverflowError) as error:
            values = ", ".join(f"{a[1]:g}" for a in arguments)
            raise ValueError(f"{name}({values}) is not a finite number") from error
    if name == "sqrt":
        return power(arguments[0], 0.5)
    if name in ("log", "log1p"):
        found = _log(add(arguments[0], ONE) if name == "log1p" else arguments[0])
        if found is not None:
            return found
        if name == "log" and arguments[0][0] == "sum" and arguments[0][1] == 1.0:
            return ("call", "log1p", (subtract(arguments[0], ONE),))
    if name == "exp" and arguments[0][:2] == ("call", "log"):
        return _argument(arguments[0])
    if name in EVEN | ODD:
        sign, argument = split_sign(arguments[0])
        own = ("call", name, (argument,))
        return negate(own) if name in ODD and sign < 0.0 else own
    return ("call", name, arguments)


def _argument(a: Expression) -> Expression:
    own: Expression = a[2][0]
    return own


def _log(a: Expression) -> Expression | None:
    """Return the logarithm of exponentials, of their sums, of sigmoid and of cosh."""
    if a[:2] == ("call", "exp"):
        return _argument(a)
    if a[:2] == ("call", "sigmoid"):
        return negate(call("softplus", negate(a[2][0])))
    if a[:2] == ("call", "cosh"):
        return call("log_cosh", a[2][0])
    if a[0] == "product" and a[1] > 0.0 and (a[1] != 1.0 or len(a[2]) == 1):
        parts = [multiply(number(e), call("log", b)) for b, e in a[2] if _is_positive(b)]
        if len(parts) == len(a[2]):
            return add(number(math.log(a[1])), *parts)
    if a[0] != "sum":
        return None
    terms = [(t, c) for t, c in a[2] if t[:2] == ("call", "exp") and c > 0.0]
    if len(terms) != len(a[2]) or a[1] < 0.0:
        return None
    exponents = [add(t[2][0], number(math.log(c))) for t, c in terms]
    if a[1] > 0.0:
        exponents.insert(0, number(math.log(a[1])))
    if len(exponents) != 2:
        return None
    first, second = exponents  # log(e^a + e^b) = a + log(1 + e^(b-a))
    return add(first, call("softplus", subtract(second, first)))


def _is_positive(a: Expression) -> bool:
    return a[:2] in (("call", "exp"), ("call", "sigmoid"), ("call", "cosh")) or (
        a[0] == "sum" and a[1] >= 0.0 and all(c > 0.0 and _is_positive(t) for t, c in a[2])
    )


def derivative(a: Expression, name: str) -> Expression:
    """Return the derivative with respect to a symbol."""
    kind = a[0]
    if kind == "number":
        return ZERO
    if kind == "symbol":
        return ONE if a[1] == name else ZERO
    if kind == "sum":
        return add(*(multiply(number(c), derivative(t, name)) for t, c in a[2]))
    if kind == "product":
        parts = []
        for place, (base, exponent) in enumerate(a[2]):
            inner = derivative(base, name)
            if inner == ZERO:
                continue
            rest = {b: e for n, (b, e) in enumerate(a[2]) if n != place}
            others = ("product", a[1], _sorted(rest)) if rest else number(a[1])
            parts.append(multiply(number(exponent), power(base, exponent - 1.0), inner, others))
        return add(*parts)
    return _derivative_of_call(a, name)


def _derivative_of_call(a: Expression, name: str) -> Expression:
    function, arguments = a[1], a[2]
    inner = [derivative(x, name) for x in arguments]
    if all(part == ZERO for part in inner):
        return ZERO
    x = arguments[0]
    if function in ("max", "min"):
        first = call("less", *(arguments[::-1] if function == "max" else arguments))
        return add(multiply(first, inner[0]), multiply(subtract(ONE, first), inner[1]))
    if function == "pow":  # a^b = e^(b log a)
        log = call("log", x)
        slope = add(multiply(inner[1], log), multiply(arguments[1], inner[0], power(x, -1.0)))
        return multiply(a, slope)
    slopes: dict[str, Callable[[], Expression]] = {
        "abs": lambda: call("sign", x),
        "cosh": lambda: call("sinh", x),
        "exp": lambda: a,
        "expm1": lambda: call("exp", x),
        "less": lambda: ZERO,
        "log": lambda: power(x, -1.0),
        "log1p": lambda: power(add(ONE, x), -1.0),
        "log_cosh": lambda: call("tanh", x),
        "sigmoid": lambda: multiply(a, call("sigmoid", negate(x))),
        "sign": lambda: ZERO,
        "sinh": lambda: call("cosh", x),
        "softplus": lambda: call("sigmoid", x),
        "tanh": lambda: multiply(subtract(ONE, a), add(ONE, a)),
    }
    return multiply(slopes[function](), inner[0])


def substitute(a: Expression, values: Mapping[str, Expression]) -> Expression:
    """Return an expression with symbols replaced."""
    kind = a[0]
    if kind == "symbol":
        return values.get(a[1], a)
    if kind == "sum":
        return add(number(a[1]), *(multiply(number(c), substitute(t, values)) for t, c in a[2]))
    if kind == "product":
        return multiply(number(a[1]), *(power(substitute(b, values), e) for b, e in a[2]))
    if kind == "call":
        return call(a[1], *(substitute(x, values) for x in a[2]))
    return a


def names_of(a: Expression) -> set[str]:
    """Return the symbols of an expression."""
    if a[0] == "symbol":
        return {a[1]}
    if a[0] in ("sum", "product"):
        return set().union(*(names_of(part) for part, _ in a[2]))
    return set().union(*(names_of(x) for x in a[2])) if a[0] == "call" else set()


def text(a: Expression) -> str:
    """Return an expression as a formula."""
    kind = a[0]
    if kind == "number":
        return f"{a[1]:g}"
    if kind == "symbol":
        return str(a[1])
    if kind == "call":
        return f"{a[1]}({', '.join(map(text, a[2]))})"
    if kind == "sum":
        parts = [f"{_signed(c)}{_factor(t)}" for t, c in a[2]]
        if a[1] != 0.0:
            parts.append(f" {'-' if a[1] < 0 else '+'} {abs(a[1]):g}")
        joined = "".join(parts)
        return joined[3:] if joined.startswith(" + ") else joined.replace(" - ", "-", 1)
    above = [_raised(b, e) for b, e in a[2] if e > 0.0]
    below = [_raised(b, -e) for b, e in a[2] if e < 0.0]
    if abs(a[1]) != 1.0 or not above:
        above.insert(0, f"{abs(a[1]):g}")
    joined = " * ".join(above) + "".join(f" / {part}" for part in below)
    return f"-{joined}" if a[1] < 0.0 else joined


def _signed(c: float) -> str:
    sign = " - " if c < 0.0 else " + "
    return sign if abs(c) == 1.0 else f"{sign}{abs(c):g} * "


def _factor(a: Expression) -> str:
    return f"({text(a)})" if a[0] == "sum" else text(a)


def _raised(base: Expression, exponent: float) -> str:
    own = f"({text(base)})" if base[0] in ("sum", "product") else text(base)
    return own if exponent == 1.0 else f"{own}**{exponent:g}"
