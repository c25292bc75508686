"""The command line `nbrewind` (also `jupyter rewind`): the same verbs, for notebooks that no kernel holds."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from nbrewind.errors import RewindError, UsageError, clipped
from nbrewind.ui.doctor import doctor_page
from nbrewind.ui.errand import Configured, flags, move, run, settings_of
from nbrewind.ui.export import export_file
from nbrewind.ui.options import VerbGroup, common, moving
from nbrewind.ui.page import Page
from nbrewind.ui.payload import error_data, to_json
from nbrewind.ui.profile import disable_page, enable_page
from nbrewind.ui.stores import open_session, session_rows
from nbrewind.ui.story import error_text
from nbrewind.ui.terminal import emit
from nbrewind.ui.terminal import show as show_page
from nbrewind.ui.wording import moment, printable, size
from nbrewind.ui.words import Call, call_of

__all__ = ["main"]

_TARGETS: dict[str, Any] = {"ignore_unknown_options": True}


@click.group(cls=VerbGroup, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="nbrewind")
@click.pass_context
def cli(context: click.Context) -> None:
    """Undo for notebooks. A point is a cell's number (3, "before 3", -1), a name, start, or an id."""
    if context.invoked_subcommand is None:
        context.invoke(list_points)


@cli.command("list")
@click.option("--all", "everything", is_flag=True, help="All rows.")
@common
def list_points(everything: bool, **options: Any) -> None:
    """List the points, newest first."""
    run(Call(verb="list", flags=flags(all=everything)), **options)


@cli.command(context_settings=_TARGETS)
@click.argument("target", nargs=-1, required=True)
@moving
@common
def to(target: tuple[str, ...], **options: Any) -> None:
    """Go back to just after a cell (or "before N", a name, start, an id). Previews and asks; --yes does it."""
    move("to", target, options)


@cli.command(context_settings=_TARGETS)
@click.argument("target", nargs=-1, required=True)
@moving
@common
def before(target: tuple[str, ...], **options: Any) -> None:
    """Go back to just before a cell."""
    move("before", target, options)


@cli.command(context_settings=_TARGETS)
@click.argument("count", nargs=-1)
@moving
@common
def back(count: tuple[str, ...], **options: Any) -> None:
    """Go back COUNT cells that changed something."""
    move("back", count, options)


@cli.command()
@click.option("--overwrite", is_flag=True, help="Also what was edited after the rewind.")
@click.option("--force", is_flag=True, help="Also where many files would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Accepted; undo never asks.")
@common
def undo(overwrite: bool, force: bool, yes: bool, **options: Any) -> None:
    """Take the last rewind back; edits made since are kept."""
    run(Call(verb="undo", flags=flags(overwrite=overwrite, force=force, yes=yes)), **options)


@cli.command()
@click.option("--overwrite", is_flag=True, help="Also what was edited since.")
@click.option("--force", is_flag=True, help="Also where many files would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Accepted; redo never asks.")
@common
def redo(overwrite: bool, force: bool, yes: bool, **options: Any) -> None:
    """Go forward again."""
    run(Call(verb="redo", flags=flags(overwrite=overwrite, force=force, yes=yes)), **options)


@cli.command()
@click.argument("paths", nargs=-1, required=True)
@click.option("--from", "source", required=True, help='A point: 3, "before 3", a name, an id.')
@click.option("--as", "destination", default="", help="Put one path beside the present one, under this name.")
@click.option("--overwrite", is_flag=True, help="Replace what has that name already.")
@click.option("--yes", "-y", is_flag=True, help="Accepted; restore never asks.")
@common
def restore(paths: tuple[str, ...], source: str, destination: str, overwrite: bool, yes: bool, **options: Any) -> None:
    """Bring single files or folders back from a point."""
    call = Call(verb="restore", target=source, paths=paths, destination=destination,
                flags=flags(overwrite=overwrite, yes=yes))  # fmt: skip
    run(call, **options)


@cli.command(context_settings=_TARGETS)
@click.argument("target", nargs=-1, required=True)
@common
def show(target: tuple[str, ...], **options: Any) -> None:
    """Show one cell: code, output, files."""
    run(call_of("show", target), **options)


@cli.command(context_settings=_TARGETS)
@click.argument("words", nargs=-1, required=True, metavar="TARGET PATH")
@common
def cat(words: tuple[str, ...], **options: Any) -> None:
    """Write a file as it was then to standard output, byte for byte."""
    run(call_of("cat", words), **options)


@cli.command(context_settings=_TARGETS)
@click.argument("words", nargs=-1, required=True, metavar="TARGET [PATH]")
@click.option("--all", "everything", is_flag=True, help="All rows.")
@common
def diff(words: tuple[str, ...], everything: bool, **options: Any) -> None:
    """Show what differs between a point and now."""
    run(call_of("diff", words, flags(all=everything)), **options)


@cli.command()
@click.argument("path")
@common
def history(path: str, **options: Any) -> None:
    """List the cells that changed a file."""
    run(Call(verb="history", paths=(path,)), **options)


@cli.command()
@click.argument("text")
@common
def name(text: str, **options: Any) -> None:
    """Name the present point; it is kept for ever."""
    run(Call(verb="name", text=text), **options)


@cli.command()
@click.argument("name")
@click.option("--from", "source", required=True, help='A point: 3, "before 3", a name, an id.')
@common
def get(name: str, source: str, **options: Any) -> None:
    """Say what a variable was at a point. Its value is loaded in kernels only: %rewind get."""
    run(Call(verb="get", target=source, paths=(name,)), **options)


@cli.command()
@click.argument("target", nargs=-1)
@common
def recover(target: tuple[str, ...], workspace: str, store: str, session: str, as_json: bool) -> None:
    """Bring variables into a kernel: only there, by %rewind recover."""
    del target, workspace, store, session, as_json
    raise UsageError(
        "Variables are recovered into a kernel, and there is none here. Nothing changed.",
        hint="In the notebook: %load_ext nbrewind, then %rewind recover. Files: nbrewind to N.",
    )


@cli.command()
@click.option("--yes", "-y", is_flag=True, help="Believe it.")
@common
def trust(yes: bool, **options: Any) -> None:
    """Believe a store that somebody else made: its variables are loaded, files outside the workspace changed."""
    run(Call(verb="trust", flags=flags(yes=yes)), **options)


@cli.command()
@common
def status(**options: Any) -> None:
    """Say what is protected, what is not, and why."""
    run(Call(verb="status"), **options)


@cli.command()
@common
def verify(**options: Any) -> None:
    """Replay every point aside and compare its hashes."""
    run(Call(verb="verify"), **options)


@cli.command()
@common
def gc(**options: Any) -> None:
    """Pack the store and drop what nothing names."""
    run(Call(verb="gc"), **options)


@cli.command()
@common
def sessions(workspace: str, store: str, session: str, as_json: bool) -> None:
    """List the sessions of the workspace."""
    del session
    rows = session_rows(settings_of(workspace, store))
    page = Page(data={"sessions": rows})
    if not rows:
        page.say("There is no session yet.")
    page.table(
        [
            (
                row["id"],
                f"{row.get('turns', 0)} cells",
                moment(row.get("last") or 0.0),
                printable(row.get("notebook") or ""),
                f"held by {printable(row['holder'])}" if row["holder"] else "",
                f"damaged: {row['damaged']}" if row.get("damaged") else size(row.get("bytes", 0)),
            )
            for row in rows
        ]
    )
    show_page(page, as_json)


@cli.command()
@common
def doctor(workspace: str, store: str, session: str, as_json: bool) -> None:
    """Check this machine and the store."""
    del session
    page = doctor_page(settings_of(workspace, store))
    show_page(page, as_json)
    sys.exit(page.exit_status)


@cli.command()
def demo() -> None:
    """Show it all on scratch data in a real kernel, with hashes before and after."""
    from nbrewind.ui.demo import run as run_demo

    sys.exit(run_demo())


@cli.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@click.option("--at", "target", default="", help="The point up to which cells are taken; by default all of the line.")
@click.option("--all", "everything", is_flag=True, help="Each run of a cell, not only its last.")
@click.option("--overwrite", is_flag=True, help="Replace what has that name already.")
@common
def export(
    file: str, target: str, everything: bool, overwrite: bool, workspace: str, store: str, session: str, as_json: bool
) -> None:
    """Rebuild a notebook from the session log, with outputs; FILE may be - for standard output."""
    opened = open_session(settings_of(workspace, store), session, to_move=False)
    try:
        page = export_file(opened, file, target, all_runs=everything, overwrite=overwrite)
    finally:
        opened.close()
    show_page(page, as_json, raw=file == "-")


@cli.command()
@click.option("--profile", default="default", help="The IPython profile.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/commands.md).")
def enable(profile: str, as_json: bool) -> None:
    """Protect every notebook of this user: one line in the configuration of IPython. Batch runs are left out."""
    show_page(enable_page(profile), as_json)


@cli.command()
@click.option("--profile", default="default", help="The IPython profile.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON (docs/commands.md).")
def disable(profile: str, as_json: bool) -> None:
    """Take that line out again."""
    show_page(disable_page(profile), as_json)


@cli.command("help")
@click.argument("command", required=False)
@click.pass_context
def help_command(context: click.Context, command: str | None) -> None:
    """Show the words, or one of them."""
    top = context.find_root()
    chosen = cli.get_command(top, command) if command else None
    if command and chosen is None:
        raise UsageError(f'Unknown "{clipped(command)}".', hint="nbrewind help lists the words.")
    click.echo(chosen.get_help(click.Context(chosen, info_name=command, parent=top)) if chosen else cli.get_help(top))


def main(arguments: list[str] | None = None, configured: Configured | None = None) -> None:
    """Run the command line; the exit status is that of the error's class (docs/commands.md).

    *configured* gives the settings of configuration files.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = cli.main(words, prog_name="nbrewind", standalone_mode=False, obj=configured)
    except click.exceptions.Abort:
        click.echo("Nothing changed.", err=True)
        sys.exit(130)
    except click.ClickException as error:
        _fail(UsageError(error.format_message()), "--json" in words)
    except RewindError as error:
        _fail(error, "--json" in words)
    except BrokenPipeError:
        # The reader has seen enough (`| head`). An ordinary exit would flush into the closed pipe and complain; the
        # session was given back before.
        os._exit(0)
    else:
        sys.exit(status if isinstance(status, int) else 0)


def _fail(error: RewindError, as_json: bool) -> None:
    if as_json:
        emit(to_json(error_data(error)))
    click.echo(error_text(error).replace("%rewind", "nbrewind"), err=True)
    sys.exit(error.exit_status)


if __name__ == "__main__":
    main()
