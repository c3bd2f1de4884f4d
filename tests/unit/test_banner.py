"""What a server prints when it starts."""

from __future__ import annotations

import shlex

from cqs.banner import Start


def test_a_shell_does_not_take_the_brackets_of_an_ipv6_address_for_a_pattern() -> None:
    start = Start("http://[::1]:9324", "", "open", "us-east-1", "000000000000", 0)

    assert start.aws_cli.endswith(" --endpoint-url 'http://[::1]:9324'")
    assert shlex.split(start.aws_cli)[-1] == start.endpoint
