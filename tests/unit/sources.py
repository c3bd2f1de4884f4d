"""The project's own Python files, parsed once for the tests that keep the house tidy."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Source:
    """One file: its path from the root, its module name, text and syntax tree."""

    path: str
    module: str
    text: str
    tree: ast.Module

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the tree."""
        return tuple(ast.walk(self.tree))

    @cached_property
    def imports(self) -> list[tuple[str, int]]:
        """Modules it imports, with the line; `from a import b` counts as a.b, for b may be a module."""
        found: list[tuple[str, int]] = []
        for node in self.nodes:
            if isinstance(node, ast.Import):
                found += [(alias.name, node.lineno) for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, f"{self.path}:{node.lineno}: import absolutely"
                found += [(f"{node.module}.{alias.name}", node.lineno) for alias in node.names]
        return found


@cache
def sources(*folders: str) -> tuple[Source, ...]:
    """All Python files below the folders, in order."""
    found: list[Source] = []
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "node_modules" in path.parts:
                continue
            relative = path.relative_to(ROOT)
            text = path.read_text()
            module = ".".join(relative.with_suffix("").parts).removesuffix(".__init__")
            found.append(Source(str(relative), module, text, ast.parse(text, str(relative))))
    return tuple(found)
