"""Prometheus text format, for node_exporter's textfile collector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def text_of(series: Mapping[str, Sequence[tuple[Mapping[str, str], float]]]) -> str:
    """One gauge per name, with its labels and values."""
    lines: list[str] = []
    for name, values in series.items():
        lines.append(f"# TYPE {name} gauge")
        for labels, value in values:
            told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            lines.append(f"{name}{{{told}}} {value!r}" if told else f"{name} {value!r}")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
