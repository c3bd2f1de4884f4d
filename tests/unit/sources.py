"""The project's own Python files, for the tests of code rules: read once, parsed on demand."""

from __future__ import annotations

import ast
import gc
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    """One file: its path from the root, its module name and text."""

    path: str
    module: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        """The cached syntax tree, frozen so that the garbage collector does not scan it repeatedly."""
        gc.disable()
        try:
            return ast.parse(self.text, self.path)
        finally:
            gc.freeze()
            gc.enable()

    @property
    def nodes(self) -> Iterator[ast.AST]:
        """Every node of the tree."""
        return ast.walk(self.tree)

    @property
    def statements(self) -> Iterator[ast.stmt]:
        """Every statement, which is a tenth of the nodes."""
        return _statements(self.tree.body)

    @cached_property
    def imports(self) -> list[tuple[str, int]]:
        """Modules it imports, with the line. `from a import b` counts as a.b, because b may be a module."""
        found: list[tuple[str, int]] = []
        for node in self.statements:
            if isinstance(node, ast.Import):
                found += [(alias.name, node.lineno) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}:{node.lineno}: import absolutely"
                found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
        return found

    def calls(self, *names: str) -> Iterator[tuple[str, int]]:
        """Calls of functions of these names, as they are written before the bracket, with the line."""
        if not any(name in self.text for name in names):
            return
        for node in self.nodes:
            if isinstance(node, ast.Call) and _last_name(node.func) in names:
                yield ast.unparse(node.func), node.lineno


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    for one in body:
        yield one
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(one, part, ()))
        for branch in (*getattr(one, "handlers", ()), *getattr(one, "cases", ())):
            yield from _statements(branch.body)


def _last_name(function: ast.expr) -> str:
    match function:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """All Python files below the folders, in order."""
    found: list[Source] = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "node_modules" in path.parts:
                continue
            found.append(_source(path))
    return tuple(found)


@cache
def _source(path: Path) -> Source:
    relative = path.relative_to(ROOT)
    module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
    return Source(str(relative), module, path.read_text())
