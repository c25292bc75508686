"""Options of the command line that several commands share, and the group that suggests what was meant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from nbrewind.errors import clipped
from nbrewind.ui.wording import printable
from nbrewind.ui.words import suggestion

__all__ = ["VerbGroup", "common", "moving"]


class VerbGroup(click.Group):
    """A group that suggests what was meant, and knows the other words of the magic."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of the first word."""
        name = {"files": "restore", "log": "history", "checkpoint": "name"}.get(args[0], args[0])
        if name not in self.commands and not name.startswith("-"):
            close = suggestion(name, list(self.commands))
            hint = f" Did you mean: nbrewind {close}?" if close else " nbrewind help lists the words."
            raise click.UsageError(f'Unknown "{printable(clipped(name))}". Nothing changed.{hint}')
        return super().resolve_command(ctx, [name, *args[1:]])


def common(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of every command."""
    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/commands.md)."),
        click.option("--session", default="", help="A session's id or its beginning; the newest by default."),
        click.option("--store", default="", help="The store, where it is not at its usual place."),
        click.option("--workspace", default="", help="The protected folder; by default the nearest from here up."),
    ):
        function = option(function)
    return function


def moving(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the commands that go somewhere."""
    for option in (
        click.option(
            "--force", is_flag=True, help="Also where many files would be deleted that the cells did not make."
        ),
        click.option("--overwrite", is_flag=True, help="Also what somebody else changed later."),
        click.option("--everything", is_flag=True, help="All files of the workspace, whoever changed them."),
        click.option("--only", default="", help="files, outputs or both, with a comma."),
        click.option("--yes", "-y", is_flag=True, help="Do it at once, without a preview."),
    ):
        function = option(function)
    return function
