"""Prints the settings and their origins, for `cqs config`, and docs/configuration.md from the same declarations (`cqs
config --format markdown`)."""

from __future__ import annotations

import json
from typing import TypeVar

from cqs.config.load import Loaded
from cqs.config.queues import KEYS
from cqs.config.schema import Schema, Setting, sections
from cqs.config.settings import Config, settings

S = TypeVar("S", bound=Schema)


def rows(loaded: Loaded[S]) -> list[tuple[Setting, str, str]]:
    """Each setting with its value as a user would type it, secrets masked, and its origin."""
    return [
        (setting, setting.kind.told(getattr(getattr(loaded.config, setting.section), setting.field)), origin)
        for setting, origin in zip(settings(type(loaded.config)), loaded.origins.values(), strict=True)
    ]


def as_text(loaded: Loaded[S]) -> str:
    """A table of name, value, origin, by section."""
    table = rows(loaded)
    titles = {name: section.__doc__ or name for name, section in sections(type(loaded.config))}
    name_width = max(len(setting.name) for setting, _, _ in table)
    value_width = min(44, max(len(value) for _, value, _ in table))
    lines: list[str] = []
    section = ""
    for setting, value, origin in table:
        if setting.section != section:
            section = setting.section
            lines += ["", titles[section]]
        lines.append(f"  {setting.name:{name_width}}  {value or '-':{value_width}}  {origin}")
    if loaded.queues:
        lines += ["", "Declared queues", *(f"  {queue.name}  ({queue.origin})" for queue in loaded.queues)]
    return "\n".join(lines[1:])


def as_json(loaded: Loaded[S]) -> str:
    """One object: setting → value and origin."""
    return json.dumps({s.name: {"value": value, "origin": origin} for s, value, origin in rows(loaded)}, indent=2)


def as_markdown(schema: type[Schema] = Config) -> str:
    """The text of docs/configuration.md."""
    parts = [_HEAD]
    for name, section in sections(schema):
        parts.append(f"\n## {section.__doc__}\n\n| setting | default | what it does |\n|---|---|---|\n")
        for setting in settings(schema):
            if setting.section == name:
                parts.append(
                    f"| `{setting.name}` | {_code(setting.kind.told(setting.default))} "
                    f"| {setting.help} Expects {setting.kind.expects}. |\n"
                )
    keys = (f"| `{name}` | {_code(key.default)} | {key.help} Expects {key.expects}. |\n" for name, key in KEYS.items())
    return "".join([*parts, _QUEUES, "\n| key | default | what it does |\n|---|---|---|\n", *keys])


def _code(text: str) -> str:
    return " ".join(f"`{part}`" for part in text.split(",")) if text else "none"


_HEAD = """\
# Configuration

<!-- Made from cqs/config/settings.py by `make docs`; a test checks that it is current. -->

Each setting has the same name everywhere: `port` is `--port` on the command line, `CQS_PORT` in the environment, and
`port` in the TOML file given by `--config FILE` or `CQS_CONFIG`. In flags, underscores become hyphens, and a switch
has a `--no-` form as well. Flags take precedence over the environment, the environment over the file, and the file
over the defaults. A secret can also be read from a file: `--master-key-file`, `CQS_MASTER_KEY_FILE` or
`master_key_file`, and the same for `redis` and `cassandra_password`. `cqs config` prints every setting with its value
and where it came from. With an unknown name or an invalid value the server does not start, and says in one line what is
wrong and what is expected.
"""

_QUEUES = """
## Queues declared in the file

```toml
port = 9324
data_dir = "/var/lib/cqs"

[[queue]]
name = "orders"
attributes = { VisibilityTimeout = 60, ReceiveMessageWaitTimeSeconds = 20 }
tags = { team = "shop" }
dead_letter = "orders-dead"
max_receive_count = 5

[[queue]]
name = "orders-dead"

[[queue]]
name = "payments.fifo"
attributes = { ContentBasedDeduplication = true }
account = "111122223333"
```

The server creates these queues when it starts. A queue that exists already gets the attributes and tags in the file;
attributes and tags that the file does not mention are left as they are. Removing a queue from the file does not delete
it. The keys of `[[queue]]`:
"""
