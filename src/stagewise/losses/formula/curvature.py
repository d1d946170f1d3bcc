"""Whether a formula is convex in F: by rules of composition, or else by numbers at many points.

The rules are those of disciplined convex programming (Grant, Boyd & Ye 2006): sums of convex terms
with positive factors, and convex functions of what is affine, are convex.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from stagewise.losses.formula.expression import Expression, derivative, number

__all__ = ["Curvature", "curvature_of", "sign_of"]

Curvature = Literal["constant", "affine", "convex", "concave", "unknown"]
Sign = Literal["+", "-", "0", "?"]
"""At least 0, at most 0, 0, or unknown."""

_CONVEX = frozenset({"cosh", "exp", "expm1", "log_cosh", "softplus", "abs"})
_INCREASING = frozenset({"exp", "expm1", "softplus", "log", "log1p"})
_POSITIVE = frozenset({"abs", "cosh", "exp", "less", "log_cosh", "sigmoid", "softplus", "pow"})


def sign_of(a: Expression, signs: Mapping[str, Sign]) -> Sign:
    """Return the sign of an expression; `signs` are those of its symbols."""
    kind = a[0]
    if kind == "number":
        return "0" if a[1] == 0.0 else ("+" if a[1] > 0.0 else "-")
    if kind == "symbol":
        return signs.get(a[1], "?")
    if kind == "call":
        return "+" if a[1] in _POSITIVE else "?"
    if kind == "sum":
        parts = {_times(sign_of(t, signs), c) for t, c in a[2]}
        parts |= {sign_of(number(a[1]), signs)}
        parts -= {"0"}
        return parts.pop() if len(parts) == 1 else "?"
    sign: Sign = "+" if a[1] > 0.0 else "-"
    for base, exponent in a[2]:
        if exponent % 2 == 0:
            continue
        own = sign_of(base, signs)
        if own == "?":
            return "?"
        if own == "-":
            sign = "-" if sign == "+" else "+"
    return sign


def _times(sign: Sign, c: float) -> Sign:
    if sign in ("0", "?") or c > 0.0:
        return sign
    return "-" if sign == "+" else "+"


def curvature_of(a: Expression, signs: Mapping[str, Sign]) -> Curvature:
    """Return the curvature of an expression in f."""
    slope = derivative(a, "f")
    if slope == number(0.0):
        return "constant"
    if derivative(slope, "f") == number(0.0) and not _has_kink(a):
        return "affine"
    if a[0] == "sum":
        return _of_parts(
            [_scaled(curvature_of(t, signs), sign_of(number(c), signs)) for t, c in a[2]]
        )
    if a[0] == "product":
        return _of_product(a, signs)
    if a[0] == "call":
        return _of_call(a, signs)
    return "unknown"


def _has_kink(a: Expression) -> bool:
    if a[0] == "call":
        kinks = a[1] in ("abs", "sign", "max", "min", "less")
        return (kinks and derivative(a, "f") != number(0.0)) or any(map(_has_kink, a[2]))
    return a[0] in ("sum", "product") and any(_has_kink(part) for part, _ in a[2])


def _of_parts(parts: list[Curvature]) -> Curvature:
    kinds = set(parts) - {"constant", "affine"}
    if not kinds:
        return "affine"
    return kinds.pop() if len(kinds) == 1 else "unknown"


def _scaled(own: Curvature, sign: Sign) -> Curvature:
    if own in ("constant", "affine") or sign == "+":
        return own
    if sign == "-" and own in ("convex", "concave"):
        return "concave" if own == "convex" else "convex"
    return "unknown"


def _of_product(a: Expression, signs: Mapping[str, Sign]) -> Curvature:
    zero = number(0.0)
    varying = [(b, e) for b, e in a[2] if derivative(b, "f") != zero]
    fixed = tuple((b, e) for b, e in a[2] if derivative(b, "f") == zero)
    sign = sign_of(("product", a[1], fixed), signs) if fixed else sign_of(number(a[1]), signs)
    if len(varying) != 1:
        return "unknown"
    base, exponent = varying[0]
    inner = curvature_of(base, signs)
    if exponent == 1.0:
        return _scaled(inner, sign)
    base_sign = sign_of(base, signs)
    own: Curvature = "unknown"
    if exponent >= 1.0 and exponent % 2 == 0:
        rising = inner == "convex" and base_sign == "+"
        own = "convex" if inner == "affine" or rising else "unknown"
    elif base_sign == "+" and exponent > 1.0:
        own = "convex" if inner in ("affine", "convex") else "unknown"
    elif base_sign == "+" and exponent < 0.0:
        own = "convex" if inner in ("affine", "concave") else "unknown"
    return _scaled(own, sign)


def _of_call(a: Expression, signs: Mapping[str, Sign]) -> Curvature:
    name, inner = a[1], [curvature_of(x, signs) for x in a[2]]
    if name == "max":
        return "convex" if all(k in ("constant", "affine", "convex") for k in inner) else "unknown"
    if name == "min":
        concave = all(k in ("constant", "affine", "concave") for k in inner)
        return "concave" if concave else "unknown"
    if name in _CONVEX:
        rising = name in _INCREASING and inner[0] == "convex"
        return "convex" if inner[0] == "affine" or rising else "unknown"
    if name in ("log", "log1p"):
        return "concave" if inner[0] in ("affine", "concave") else "unknown"
    return "unknown"
