"""Merging the pages of several workers."""

from __future__ import annotations

from cqs.metrics.gathered import gathered

PAGE = """# HELP a_total What a is.
# TYPE a_total counter
a_total{queue="x"} %d
# HELP b What b is.
# TYPE b gauge
b %d
"""


def test_families_stay_together_and_each_series_says_whose_it_is() -> None:
    page = gathered({"1": (PAGE % (1, 2)).encode(), "2": (PAGE % (3, 4)).encode()}).decode()

    assert page == (
        "# HELP a_total What a is.\n# TYPE a_total counter\n"
        'a_total{worker="1",queue="x"} 1\na_total{worker="2",queue="x"} 3\n'
        "# HELP b What b is.\n# TYPE b gauge\n"
        'b{worker="1"} 2\nb{worker="2"} 4\n'
    )


def test_openmetrics_ends_once() -> None:
    page = gathered({name: (PAGE % (1, 2)).encode() + b"# EOF\n" for name in "12"}).decode()

    assert page.count("# EOF") == 1
    assert page.endswith("\n# EOF\n")


def test_a_family_that_one_worker_has_alone() -> None:
    page = gathered({"1": b"# TYPE a counter\na{} 1\n", "2": b"# TYPE c gauge\nc 1\n"}).decode()

    assert page == '# TYPE a counter\na{worker="1"} 1\n# TYPE c gauge\nc{worker="2"} 1\n'
