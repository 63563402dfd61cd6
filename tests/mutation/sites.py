"""Where and how a file can be mutated: operators, conditions, constants, orders, dropped calls.

Pure: source text in, `Mutant`s out, in an order that depends on the text alone. A mutant replaces one span of
the source, so that everything else, comments and line numbers too, stays.
"""

from __future__ import annotations

import ast
import copy
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

PER_FUNCTION_MAX = 2

_COMPARE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
_BINARY: dict[type[ast.operator], type[ast.operator]] = {
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
_ORDER_CALLS = ("sorted", "reversed")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of one file: `before` at byte `start` becomes `after`."""

    file: str
    function: str
    line: int
    kind: str
    before: str
    after: str
    start: int

    def apply(self, source: str) -> str:
        """Return `source` with the change made."""
        data = source.encode()
        old = self.before.encode()
        assert data[self.start : self.start + len(old)] == old
        return (data[: self.start] + self.after.encode() + data[self.start + len(old) :]).decode()


def mutants(file: str, source: str) -> list[Mutant]:
    """Return every mutant of a file, in source order."""
    lines = [0]
    for line in source.encode().splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    found: list[Mutant] = []
    for function, node in _functions(ast.parse(source)):
        for kind, target, after in _changes(node):
            start = lines[target.lineno - 1] + target.col_offset
            assert target.end_lineno is not None
            assert target.end_col_offset is not None
            end = lines[target.end_lineno - 1] + target.end_col_offset
            before = source.encode()[start:end].decode()
            if before != after:
                found.append(Mutant(file, function, target.lineno, kind, before, after, start))
    return sorted(found, key=lambda mutant: (mutant.start, mutant.kind, mutant.after))


def draw(candidates: list[Mutant], *, seed: int, count: int) -> list[Mutant]:
    """Draw `count` mutants, each function being as likely as any other, at most two in a function."""
    by_function: dict[tuple[str, str], list[Mutant]] = {}
    for mutant in candidates:
        by_function.setdefault((mutant.file, mutant.function), []).append(mutant)
    rng = random.Random(seed)
    places = sorted(by_function) * PER_FUNCTION_MAX
    rng.shuffle(places)
    taken: Counter[tuple[str, str]] = Counter()
    drawn: list[Mutant] = []
    for place in places:
        left = [mutant for mutant in by_function[place] if mutant not in drawn]
        if left and len(drawn) < count:
            drawn.append(rng.choice(left))
            taken[place] += 1
    assert max(taken.values(), default=0) <= PER_FUNCTION_MAX
    return drawn


def _functions(tree: ast.Module) -> Iterator[tuple[str, ast.FunctionDef]]:
    """Give each function with its qualified name; nested ones belong to the outer."""

    def walk(node: ast.AST, prefix: str) -> Iterator[tuple[str, ast.FunctionDef]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef):
                yield prefix + child.name, child
            elif isinstance(child, ast.ClassDef):
                yield from walk(child, f"{prefix}{child.name}.")

    yield from walk(tree, "")


def _changes(function: ast.FunctionDef) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    for statement in function.body:
        for node in _inner(statement):
            if isinstance(node, ast.expr):
                yield from _of_expression(node)
            elif isinstance(node, ast.stmt):
                yield from _of_statement(node)


def _inner(statement: ast.stmt) -> Iterator[ast.AST]:
    """Walk a statement, without what decides nothing: annotations, messages, assertions, strictness of zips."""
    if isinstance(statement, (ast.Assert, ast.Raise, ast.Import, ast.ImportFrom)):
        return
    stack: list[ast.AST] = [statement]
    while stack:
        node = stack.pop()
        yield node
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            children = value if isinstance(value, list) else [value]
            stack += [
                child
                for child in children
                if isinstance(child, ast.AST)
                and not isinstance(child, (ast.Assert, ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom))
                and not (isinstance(child, ast.keyword) and child.arg == "strict")
            ]


def _of_expression(node: ast.expr) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    match node:
        case ast.Compare(ops=[op]) if type(op) in _COMPARE:
            changed = copy.deepcopy(node)
            changed.ops = [_COMPARE[type(op)]()]
            yield "comparison", node, _text(changed)
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "and/or", node, f"({_text(ast.BoolOp(other, values))})"
            yield "dropped condition", node, f"({_text(values[-1])})"
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "dropped not", node, f"bool({_text(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "swapped branches", node, f"({_text(ast.IfExp(test, orelse, body))})"
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            if isinstance(right, ast.Constant) and isinstance(right.value, int):
                yield "operator", node, f"({_text(ast.BinOp(left, ast.Sub(), right))})"
            else:
                yield "order of +", node, f"({_text(ast.BinOp(right, ast.Add(), left))})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            yield "operator", node, f"({_text(ast.BinOp(left, _BINARY[type(op)](), right))})"
        case ast.Constant(value=bool(value)):
            yield "constant", node, repr(not value)
        case ast.Constant(value=int(value)):
            yield "constant", node, repr(value + 1)
        case ast.Call(func=ast.Name(id=name), args=[argument, *_]) if name in _ORDER_CALLS:
            yield "order", node, f"list({_text(argument)})"
        case ast.Call(func=ast.Name(id="max" | "min" as name)) if node.args:
            changed = copy.deepcopy(node)
            changed.func = ast.Name("min" if name == "max" else "max")
            yield "order", node, _text(changed)
        case _:
            return


def _of_statement(node: ast.stmt) -> Iterator[tuple[str, ast.expr | ast.stmt, str]]:
    match node:
        case ast.Expr(value=ast.Call()):
            yield "dropped call", node, "pass"
        case ast.If(test=test) | ast.While(test=test) if not isinstance(test, (ast.Compare, ast.UnaryOp)):
            yield "negated condition", test, f"not ({_text(test)})"
        case ast.AugAssign(target=target, op=ast.Add(), value=value):
            yield "order of +=", node, f"{_text(target)} = {_text(value)} + {_text(target)}"
            yield "dropped +=", node, "pass"
        case ast.Continue():
            yield "continue/break", node, "break"
        case ast.Break():
            yield "continue/break", node, "continue"
        case _:
            return


def _text(node: ast.expr) -> str:
    return ast.unparse(node)
