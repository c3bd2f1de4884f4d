"""The building blocks of a report page. All external text is escaped here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from spark_jobs.svg import number

STYLE = """
:root{--ground:#fff;--ink:#1c2330;--soft:#667085;--edge:#e4e7ec;--a:#2f6fde;--b:#8a5cd6;--c:#d9822b;
--proven:#16794a;--violated:#b42318;--unproven:#9a6700}
@media(prefers-color-scheme:dark){:root{--ground:#12161d;--ink:#e6e9ef;--soft:#98a2b3;--edge:#2a313c;--a:#6ea1ff;
--b:#b794f6;--c:#f0a65a;--proven:#3ccb7f;--violated:#f97066;--unproven:#f5b942}}
*{box-sizing:border-box}body{margin:0;background:var(--ground);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}
main{max-width:1000px;margin:0 auto;padding:24px 20px 60px}
header{border-left:8px solid;padding:4px 0 4px 20px;margin-bottom:24px}
h1{font-size:44px;line-height:1.1;margin:0;text-transform:capitalize}.run{margin:0;color:var(--soft)}
header ul{margin:.4em 0;padding-left:1.2em}
header.proven{border-color:var(--proven)}header.proven h1{color:var(--proven)}
header.violated{border-color:var(--violated)}header.violated h1{color:var(--violated)}
header.unproven{border-color:var(--unproven)}header.unproven h1{color:var(--unproven)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(200px,1fr));gap:12px;margin-bottom:8px}
.tile{border:1px solid var(--edge);border-radius:10px;padding:12px 14px}.tile b{display:block;font-size:26px;
font-variant-numeric:tabular-nums}.tile small,.tile span{color:var(--soft)}
h2{font-size:20px;margin:36px 0 8px;border-bottom:1px solid var(--edge);padding-bottom:6px}
h3{font-size:14px;color:var(--soft);font-weight:600;margin:18px 0 4px}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-variant-numeric:tabular-nums}
th,td{text-align:right;padding:5px 10px;border-bottom:1px solid var(--edge);white-space:nowrap}
th{color:var(--soft);font-weight:600}th.text,td.text{text-align:left;max-width:340px;overflow:hidden;
text-overflow:ellipsis}
.plot{width:100%;min-width:600px;max-width:760px;height:auto;display:block}.label{font-size:11px;fill:var(--soft)}.end{text-anchor:end}
.grid{stroke:var(--edge)}.fill-a{fill:var(--a)}.fill-b{fill:var(--b)}.fill-c{fill:var(--c)}
.line-a,.line-b,.line-c{fill:none;stroke-width:2}.line-a{stroke:var(--a)}.line-b{stroke:var(--b)}.line-c{stroke:var(--c)}
.legend{margin:2px 0 0 56px}.key{margin-right:14px;color:var(--soft);font-size:12px}.key:before{content:"";
display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}
.key-a:before{background:var(--a)}.key-b:before{background:var(--b)}.key-c:before{background:var(--c)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 16px;margin:0 0 12px}dt{color:var(--soft)}dd{margin:0;
overflow-wrap:anywhere}
"""


def section(heading: str, content: str) -> str:
    return f"<section><h2>{escape(heading)}</h2>{content}</section>"


def tiles(entries: Sequence[tuple[str, str, str]]) -> str:
    """Name, figure, and meaning of the figure."""
    cells = [
        f'<div class="tile"><span>{escape(name)}</span><b>{escape(figure)}</b><small>{escape(meaning)}</small></div>'
        for name, figure, meaning in entries
    ]
    return f'<div class="tiles">{"".join(cells)}</div>'


def facts(entries: Mapping[str, str]) -> str:
    """A list of names and their values."""
    return f"<dl>{''.join(f'<dt>{escape(name)}</dt><dd>{escape(text)}</dd>' for name, text in entries.items())}</dl>"


def table(head: Mapping[str, str], rows: Sequence[Mapping[str, Any]]) -> str:
    """`head`: key of a row → heading. A missing value is shown as a dash."""
    texts = {key for key in head if any(isinstance(row.get(key), str) for row in rows)}
    headings = "".join(f"<th{_text(key in texts)}>{escape(name)}</th>" for key, name in head.items())
    lines = [
        "<tr>" + "".join(f"<td{_text(key in texts)}>{_cell(row.get(key))}</td>" for key in head) + "</tr>"
        for row in rows
    ]
    return f'<div class="wide"><table><thead><tr>{headings}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _text(is_text: bool) -> str:
    return ' class="text"' if is_text else ""


def _cell(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, float | int):
        return number(value)
    return f'<span title="{escape(str(value))}">{escape(str(value))}</span>'
