"""The faults: each changes one expression or statement inside a function of the product code."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

PACKAGES = ("spa", "mturk", "prolific", "analysis", "streamlit_app")
COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.And: ast.Or, ast.Or: ast.And}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One fault in a file: the text from a place to another (lines from 1, columns in bytes) becomes other text."""

    path: str
    line: int
    column: int
    last_line: int
    last_column: int
    before: str
    after: str
    whole: str  # the line, by which the place is found in another version of the file

    def applied(self, source: str) -> str:
        """Return the file with the fault."""
        return self._replaced(source, self.after)

    def probed(self, source: str, number: int) -> str:
        """Return the file, which reports when it comes to the place of the fault."""
        reach = f"__import__('tests.mutants.probe').mutants.probe.reach({number})"
        return self._replaced(source, f"{reach}; {{}}" if self.after == "pass" else f"({reach}, {{}})[1]")

    def _replaced(self, source: str, pattern: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        old = lines[self.line - 1 : self.last_line]
        tail = old[-1][self.last_column :]
        old[-1] = old[-1][: self.last_column]
        head, inside = old[0][: self.column], b"".join([old[0][self.column :], *old[1:]])
        lines[self.line - 1 : self.last_line] = [head + pattern.replace("{}", inside.decode()).encode() + tail]
        return b"".join(lines).decode()

    def is_python(self, tree: Path) -> bool:
        """Say whether the file with the fault can be read."""
        try:
            compile(self.applied((tree / self.path).read_text()), self.path, "exec")
        except SyntaxError:
            return False
        return True

    def found_in(self, tree: Path) -> Mutant | None:
        """Return this mutant in another version of its file; None where its line no longer stands."""
        path = tree / self.path
        same = [
            each
            for each in (mutants_of(self.path, path.read_text()) if path.exists() else ())
            if (each.whole, each.column, each.after) == (self.whole, self.column, self.after)
        ]
        return min(same, key=lambda each: abs(each.line - self.line), default=None)


def all_mutants(root: Path) -> Iterator[Mutant]:
    """Yield every mutant of the product code, file by file."""
    for package in PACKAGES:
        for path in sorted((root / package).rglob("*.py")):
            yield from mutants_of(str(path.relative_to(root)), path.read_text())


def mutants_of(path: str, source: str) -> Iterator[Mutant]:
    """Yield the mutants of a file."""
    lines = source.splitlines()
    for function in ast.walk(ast.parse(source)):
        for statement in function.body if isinstance(function, FUNCTIONS) else ():
            for old, new in (change for node in inside(statement) for change in changes(node)):
                text = ast.unparse(new)
                yield Mutant(
                    path=path, line=old.lineno, column=old.col_offset,
                    last_line=old.end_lineno or 0, last_column=old.end_col_offset or 0,
                    before=ast.unparse(old), after=f"({text})" if isinstance(new, ast.expr) else text,
                    whole=lines[old.lineno - 1],
                )  # fmt: skip


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a node and what is in it, without types, f-strings (their places are unknown) and inner functions."""
    documentation = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    if documentation or isinstance(node, (*FUNCTIONS, ast.JoinedStr, ast.pattern)):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name not in {"annotation", "returns"}:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from inside(child)


def changes(node: ast.AST) -> Iterator[tuple[ast.expr | ast.stmt, ast.expr | ast.stmt]]:
    """Yield what can be changed at a node, and to what."""
    match node:
        case ast.Expr(value=ast.Call()) | ast.AugAssign():
            yield node, ast.Pass()
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, ast.UnaryOp(ast.Not(), test)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield node, operand
        case ast.Compare(ops=[operator]):
            yield node, with_field(node, "ops", [COMPARED[type(operator)]()])
        case ast.BoolOp(op=operator):
            yield node, with_field(node, "op", COMPUTED[type(operator)]())
        case ast.BinOp(op=operator) if type(operator) in COMPUTED and not any(map(is_text, (node.left, node.right))):
            yield node, with_field(node, "op", COMPUTED[type(operator)]())
        case ast.Constant(value=bool(value)):
            yield node, ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield node, ast.Constant(value + 1)
            yield node, ast.Constant(value - 1)
        case ast.Constant(value=float(value)):
            yield node, ast.Constant(value * 2 + 1)
        case ast.Constant(value=str(value)) if value.isidentifier():
            yield node, ast.Constant(f"{value}_")
        case ast.Call(args=[first, second, *rest]) if ast.dump(first) != ast.dump(second):
            yield node, with_field(node, "args", [second, first, *rest])


def is_text(node: ast.expr) -> bool:
    """Say whether an operand is a text, which is only ever joined."""
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def with_field(node: ast.expr, name: str, value: object) -> ast.expr:
    """Return a copy with one field changed."""
    changed = copy.copy(node)
    setattr(changed, name, value)
    return changed
