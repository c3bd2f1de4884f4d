"""Command-line options built from the declared settings; `--help` shows them in groups."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from cqs.config.load import Loaded, load
from cqs.config.schema import Setting, sections
from cqs.config.settings import Config, settings

C = TypeVar("C", bound=Callable[..., Any])
_FILE_HELP = "TOML file with settings and [[queue]] declarations; also CQS_CONFIG."


class SettingsCommand(click.Command):
    """A command whose help shows settings by section, and other options under Options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        section_of = {setting.name: setting.section for setting in settings()}
        titles = {name: section.__doc__ or name for name, section in sections(Config)}
        groups: dict[str, list[tuple[str, str]]] = {title: [] for title in [*titles.values(), "Options"]}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None:
                name = (parameter.name or "").removesuffix("_file")
                groups[titles.get(section_of.get(name, ""), "Options")].append(record)
        for title, records in groups.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def with_settings(function: C) -> C:
    """Adds `--config` and the options of all settings; the command gets them as keyword arguments."""
    for setting in reversed(settings()):
        for option in reversed(_options(setting)):
            function = option(function)
    return click.option("--config", "config_path", metavar="FILE", help=_FILE_HELP)(function)


def loaded_settings(given: Mapping[str, object], environ: Mapping[str, str] = os.environ) -> Loaded[Config]:
    """The settings from the options added by `with_settings`, the environment and the file. Raises ConfigError."""
    flags = {
        name: ",".join(value) if isinstance(value, tuple) else value for name, value in given.items() if value != ()
    }
    path = flags.pop("config_path", None)
    return load(flags, environ, str(path) if path else None)


def _options(setting: Setting) -> list[Callable[[C], C]]:
    shown = setting.kind.show(setting.default)
    text = f"{setting.help} [default: {shown}]" if shown else setting.help
    if setting.kind.is_switch:
        declaration = f"{setting.flag}/--no-{setting.flag.removeprefix('--')}"
        return [click.option(declaration, setting.name, default=None, help=text)]
    metavar = setting.kind.name if "|" in setting.kind.name else setting.kind.name.upper()
    options = [click.option(setting.flag, setting.name, metavar=metavar, multiple=setting.kind.is_list, help=text)]
    if setting.kind.is_secret:
        help_text = f"File that contains {setting.name}."
        options.append(click.option(f"{setting.flag}-file", f"{setting.name}_file", metavar="FILE", help=help_text))
    return options
