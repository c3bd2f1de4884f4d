"""Singular and plural: texts for people say "1 error", not "1 errors"."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest

from admin.formats import counted as counted_with_commas
from admin.formats import times
from cqs.doctor.finding import Finding, Level, as_text
from cqs.plural import counted, plural
from tests.unit.sources import ROOT, sources

PLURALS = (
    "answers|calls|characters|connections|copies|cores|days|errors|events|failures|files|groups|hosts|"
    "hours|jobs|keys|letters|lines|lives?|messages|minutes|nodes|parts|queues|receives|replicas|rows|seconds|servers|"
    "statements|tasks|tenants|times|tries|users|wait|warnings|were|workers"
)
_AFTER_A_NUMBER = re.compile(rf"^,? (?:more |waiting |dead |cache )?(?:{PLURALS})\b")
_IN_A_TEMPLATE = re.compile(rf"\}}\}}(?:</strong>)?{_AFTER_A_NUMBER.pattern[1:]}[^}}]{{0,40}}")
AWS = ("cqs/errors.py", "cqs/service/draft_rules.py", "cqs/service/permissions.py", "cqs/service/visibility.py")
"""These files have texts taken from SQS."""


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 errors"), (1, "1 error"), (2, "2 errors"), (12_345, "12345 errors")]
)
def test_a_number_has_its_noun(count: int, words: str) -> None:
    assert counted(count, "error") == words


def test_a_plural_that_an_s_does_not_make_is_given() -> None:
    assert [counted(count, "copy is", "copies are") for count in (1, 3)] == ["1 copy is", "3 copies are"]
    assert [plural(count, "was", "were") for count in (0, 1, 2)] == ["were", "was", "were"]


def test_pages_write_large_numbers_with_commas_and_fractions_as_many() -> None:
    assert counted_with_commas(12_345, "message") == "12,345 messages"
    assert [counted_with_commas(count, "job") for count in (1.0, 1.5)] == ["1 job", "1.5 jobs"]
    assert [times(count) for count in (1, 2)] == ["once", "2 times"]


@pytest.mark.parametrize(
    ("levels", "told"),
    [
        ([Level.ERROR], "1 error, 0 warnings."),
        ([Level.ERROR, Level.ERROR, Level.WARNING], "2 errors, 1 warning."),
        ([Level.OK], "All is well."),
    ],
)
def test_the_doctor_counts_what_it_found(levels: list[Level], told: str) -> None:
    assert as_text([Finding(level, "redis", "words") for level in levels]).splitlines()[-1] == told


def uncounted() -> Iterator[str]:
    """Returns places where a number that may be 1 is followed by a plural."""
    for source in sources("cqs", "admin"):
        for node in source.nodes:
            if isinstance(node, ast.JoinedStr) and source.path not in AWS:
                for before, after in zip(node.values, node.values[1:], strict=False):
                    is_plural = isinstance(after, ast.Constant) and _AFTER_A_NUMBER.match(str(after.value))
                    if is_plural and not _is_limit(before):
                        yield f"{source.path}:{node.lineno}: {ast.unparse(node)}"
    for path in sorted((ROOT / "admin" / "templates").glob("*.html")):
        for found in _IN_A_TEMPLATE.finditer(path.read_text()):
            yield f"{path.name}: {found[0]}"


def _is_limit(node: ast.expr) -> bool:
    """Whether it is a constant, which is greater than 1."""
    value = node.value if isinstance(node, ast.FormattedValue) else node
    name = value.attr if isinstance(value, ast.Attribute) else value.id if isinstance(value, ast.Name) else ""
    return name.isupper()


def test_no_text_writes_a_plural_behind_a_number_by_hand() -> None:
    assert list(uncounted()) == []
