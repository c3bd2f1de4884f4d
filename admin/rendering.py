"""Renders values to HTML with jinja2: everything is escaped, and undefined values are errors.

A page extends `layout.html`; the part that changes while it is open is in its block `live`. A page that refreshes
itself requests only that block. Compiled pages are kept beside their sources (`admin.kept_pages`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from admin.formats import FILTERS
from admin.kept_pages import KeptPages
from admin.sparkline import sparkline

TEMPLATES = Path(__file__).parent / "templates"
LIVE = "live"


class Templates:
    """The compiled templates."""

    def __init__(self, kept: Path = TEMPLATES / "__pycache__") -> None:
        """`kept`: the folder of compiled templates."""
        self._environment = Environment(
            loader=FileSystemLoader(TEMPLATES),
            bytecode_cache=KeptPages(kept, of=Path(__file__).read_bytes()),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            auto_reload=False,
        )
        self._environment.filters.update(FILTERS)
        self._environment.globals["sparkline"] = sparkline
        for name in ("icons", "ui"):
            self._environment.globals[name] = self._environment.get_template(f"{name}.html").make_module()

    def warm(self) -> None:
        """Compiles all templates that are not compiled yet, which takes some hundred milliseconds, so that no visitor
        has to wait for it. Thread-safe."""
        for name in self._environment.list_templates(extensions=["html"]):
            self._environment.get_template(name)

    def page(self, name: str, values: Mapping[str, object]) -> str:
        """The whole page."""
        return self._environment.get_template(name).render(values)

    def live(self, name: str, values: Mapping[str, object]) -> str:
        """Only the part that changes."""
        template = self._environment.get_template(name)
        context = template.new_context(dict(values))
        block = template.blocks.get(LIVE)
        return "".join(block(context)) if block is not None else template.render(values)
