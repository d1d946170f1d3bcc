"""Reads a formula: Python's syntax tree, of which a few nodes are allowed.

Nothing is executed. Every node that is not in the list is an error, so a formula from a model file
is as safe as one that is typed. This module must not use eval, exec, compile or getattr.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import NoReturn

from stagewise.losses.formula.expression import (
    Expression,
    add,
    call,
    divide,
    multiply,
    negate,
    number,
    power,
    subtract,
)
from stagewise.validation.parameters import nearest_name

__all__ = ["FUNCTIONS", "parse"]

LONGEST, MOST_NODES = 2000, 400

FUNCTIONS: Mapping[str, int] = {
    "abs": 1,
    "cosh": 1,
    "exp": 1,
    "expm1": 1,
    "log": 1,
    "log1p": 1,
    "log_cosh": 1,
    "max": 2,
    "min": 2,
    "sigmoid": 1,
    "sign": 1,
    "sinh": 1,
    "softplus": 1,
    "sqrt": 1,
    "tanh": 1,
}
"""The functions of formulas, and their numbers of arguments."""


def parse(formula: str, names: Mapping[str, Expression]) -> Expression:
    """Return the expression of a formula.

    Parameters
    ----------
    formula : str
        The formula: + - * / **, numbers, the names, and the functions of `FUNCTIONS`.
    names : mapping
        The names that it may have, and what they stand for.

    Raises
    ------
    ValueError
        If it has anything else.
    """
    if not isinstance(formula, str):
        raise TypeError(f"A formula is text, such as 'log(1 + exp(-y*f))'; got {formula!r}.")
    if len(formula) > LONGEST:
        raise ValueError(f"A formula has at most {LONGEST} characters; this one {len(formula)}.")
    try:
        tree = ast.parse(formula.strip(), mode="eval")
        size = sum(1 for _ in ast.walk(tree))
        if size > MOST_NODES:
            raise ValueError(f"A formula has at most {MOST_NODES} parts; this one has {size}.")
        return _Reader(formula.strip(), names).read(tree.body)
    except (SyntaxError, RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(f"The formula {formula!r} cannot be read: {error}.") from None


class _Reader:
    def __init__(self, formula: str, names: Mapping[str, Expression]) -> None:
        self.formula, self.names = formula, names

    def read(self, node: ast.expr) -> Expression:
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            value = math.nan if isinstance(node.value, bool) else float(node.value)
            if not math.isfinite(value):
                self.refuse(node, "is no number of a formula")
            return number(value)
        if isinstance(node, ast.Name):
            return self.name(node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            operand = self.read(node.operand)
            return negate(operand) if isinstance(node.op, ast.USub) else operand
        if isinstance(node, ast.BinOp):
            return self.operation(node)
        if isinstance(node, ast.Call):
            return self.call(node)
        return self.refuse(node, "is not allowed")

    def name(self, node: ast.Name) -> Expression:
        if node.id == "pi":
            return number(math.pi)
        if node.id not in self.names:
            known = ", ".join(self.names)
            self.refuse(
                node,
                f"is no name of it (the names are {known}; give other numbers as parameters, "
                f"{node.id}=...).{nearest_name(node.id, [*self.names, *FUNCTIONS])}",
            )
        return self.names[node.id]

    def operation(self, node: ast.BinOp) -> Expression:
        a, b = self.read(node.left), self.read(node.right)
        if isinstance(node.op, ast.Add):
            return add(a, b)
        if isinstance(node.op, ast.Sub):
            return subtract(a, b)
        if isinstance(node.op, ast.Mult):
            return multiply(a, b)
        if isinstance(node.op, ast.Div):
            if b == number(0.0):
                self.refuse(node, "divides by 0")
            return divide(a, b)
        if isinstance(node.op, ast.Pow):
            return power(a, b[1]) if b[0] == "number" else call("pow", a, b)
        return self.refuse(node, "is not allowed; a power is **")

    def call(self, node: ast.Call) -> Expression:
        if not isinstance(node.func, ast.Name) or node.func.id not in FUNCTIONS or node.keywords:
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            self.refuse(
                node,
                f"is no function of formulas ({', '.join(FUNCTIONS)})."
                f"{nearest_name(name, list(FUNCTIONS))}",
            )
        if len(node.args) != FUNCTIONS[node.func.id]:
            self.refuse(node, f"needs {FUNCTIONS[node.func.id]} argument(s)")
        return call(node.func.id, *map(self.read, node.args))

    def refuse(self, node: ast.expr, why: str) -> NoReturn:
        part = ast.get_source_segment(self.formula, node) or type(node).__name__
        raise ValueError(f"In the formula {self.formula!r}, {part!r} {why}".rstrip(". ") + ".")
