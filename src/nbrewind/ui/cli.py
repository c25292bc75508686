"""The command line `nbrewind` (also `jupyter rewind`): the same verbs, for notebooks that no kernel holds."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from nbrewind.errors import RewindError, SessionLocked, UsageError
from nbrewind.ui.doctor import doctor_page
from nbrewind.ui.options import VerbGroup, common, moving
from nbrewind.ui.page import Page
from nbrewind.ui.payload import error_data, to_json
from nbrewind.ui.stores import open_session, session_rows, settings_for
from nbrewind.ui.story import error_text
from nbrewind.ui.terminal import emit
from nbrewind.ui.terminal import show as show_page
from nbrewind.ui.verbs import Desk
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


def _run(call: Call, workspace: str, store: str, session: str, as_json: bool) -> None:
    """Carry out *call* and end the process with the status of its outcome."""
    moves = call.verb in ("to", "before", "back", "undo", "redo", "restore", "name", "gc")
    settings = settings_for(workspace, store, os.environ)
    looked_at = ""
    try:
        opened = open_session(settings, session, to_move=moves)
    except SessionLocked as error:
        if not moves or call.has("yes") or call.verb not in ("to", "before", "back"):
            raise
        # A preview only looks; what a running kernel holds can be looked at.
        looked_at = error.message
        opened = open_session(settings, session, to_move=False)
    try:
        page = Desk(session=opened).run(call)
        show_page(page, as_json, raw=call.verb == "cat")
        if call.verb in ("to", "before", "back") and not call.has("yes") and not as_json:
            page = _asked(opened, page, looked_at)
    finally:
        opened.close()
    if page.exit_status:
        sys.exit(page.exit_status)


def _asked(session: Any, page: Page, looked_at: str) -> Page:
    """Ask whether to do what the preview said, where somebody can answer."""
    token = (page.data.get("plan") or {}).get("token")
    if not token:
        return page
    if looked_at:
        raise UsageError(f"{looked_at} It can be looked at from here, not moved.")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("Nothing changed: nobody can be asked here. Add --yes.")
    if not click.confirm("Go back?", default=False):
        click.echo("Nothing changed.")
        return page
    done = Desk(session=session).run(Call(verb="confirm", text=str(token)))
    show_page(done, as_json=False)
    return done


@cli.command("list")
@click.option("--all", "everything", is_flag=True, help="All rows.")
@common
def list_points(everything: bool, **options: Any) -> None:
    """List the points, newest first."""
    _run(Call(verb="list", flags=_flags(all=everything)), **options)


@cli.command(context_settings=_TARGETS)
@click.argument("target", nargs=-1, required=True)
@moving
@common
def to(target: tuple[str, ...], **options: Any) -> None:
    """Go back to just after a cell (or "before N", a name, start, an id). Previews and asks; --yes does it."""
    _move("to", target, options)


@cli.command(context_settings=_TARGETS)
@click.argument("target", nargs=-1, required=True)
@moving
@common
def before(target: tuple[str, ...], **options: Any) -> None:
    """Go back to just before a cell."""
    _move("before", target, options)


@cli.command(context_settings=_TARGETS)
@click.argument("count", nargs=-1)
@moving
@common
def back(count: tuple[str, ...], **options: Any) -> None:
    """Go back COUNT cells that changed something."""
    _move("back", count, options)


def _move(verb: str, words: tuple[str, ...], options: dict[str, Any]) -> None:
    flags = _flags(**{name: options.pop(name) for name in ("yes", "everything", "overwrite", "force")})
    call = call_of(verb, words, flags | _flags(json=options["as_json"]), {"only": options.pop("only")})
    _run(call, **options)


@cli.command()
@click.option("--overwrite", is_flag=True, help="Also what was edited after the rewind.")
@click.option("--force", is_flag=True, help="Also where many files would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Accepted; undo never asks.")
@common
def undo(overwrite: bool, force: bool, yes: bool, **options: Any) -> None:
    """Take the last rewind back; edits made since are kept."""
    _run(Call(verb="undo", flags=_flags(overwrite=overwrite, force=force, yes=yes)), **options)


@cli.command()
@click.option("--overwrite", is_flag=True, help="Also what was edited since.")
@click.option("--force", is_flag=True, help="Also where many files would be deleted.")
@click.option("--yes", "-y", is_flag=True, help="Accepted; redo never asks.")
@common
def redo(overwrite: bool, force: bool, yes: bool, **options: Any) -> None:
    """Go forward again."""
    _run(Call(verb="redo", flags=_flags(overwrite=overwrite, force=force, yes=yes)), **options)


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
                flags=_flags(overwrite=overwrite, yes=yes))  # fmt: skip
    _run(call, **options)


@cli.command(context_settings=_TARGETS)
@click.argument("target", nargs=-1, required=True)
@common
def show(target: tuple[str, ...], **options: Any) -> None:
    """Show one cell: code, output, files."""
    _run(call_of("show", target), **options)


@cli.command(context_settings=_TARGETS)
@click.argument("words", nargs=-1, required=True, metavar="TARGET PATH")
@common
def cat(words: tuple[str, ...], **options: Any) -> None:
    """Write a file as it was then to standard output, byte for byte."""
    _run(call_of("cat", words), **options)


@cli.command(context_settings=_TARGETS)
@click.argument("words", nargs=-1, required=True, metavar="TARGET [PATH]")
@click.option("--all", "everything", is_flag=True, help="All rows.")
@common
def diff(words: tuple[str, ...], everything: bool, **options: Any) -> None:
    """Show what differs between a point and now."""
    _run(call_of("diff", words, _flags(all=everything)), **options)


@cli.command()
@click.argument("path")
@common
def history(path: str, **options: Any) -> None:
    """List the cells that changed a file."""
    _run(Call(verb="history", paths=(path,)), **options)


@cli.command()
@click.argument("text")
@common
def name(text: str, **options: Any) -> None:
    """Name the present point; it is kept for ever."""
    _run(Call(verb="name", text=text), **options)


@cli.command()
@common
def status(**options: Any) -> None:
    """Say what is protected, what is not, and why."""
    _run(Call(verb="status"), **options)


@cli.command()
@common
def verify(**options: Any) -> None:
    """Read every kept byte and compare its hash."""
    _run(Call(verb="verify"), **options)


@cli.command()
@common
def gc(**options: Any) -> None:
    """Pack the store and drop what nothing names."""
    _run(Call(verb="gc"), **options)


@cli.command()
@common
def sessions(workspace: str, store: str, session: str, as_json: bool) -> None:
    """List the sessions of the workspace."""
    del session
    rows = session_rows(settings_for(workspace, store, os.environ))
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
    page = doctor_page(settings_for(workspace, store, os.environ))
    show_page(page, as_json)
    sys.exit(page.exit_status)


@cli.command()
def demo() -> None:
    """Show it all on scratch data in a real kernel, with hashes before and after."""
    from nbrewind.ui.demo import run

    sys.exit(run())


@cli.command("help")
@click.argument("command", required=False)
@click.pass_context
def help_command(context: click.Context, command: str | None) -> None:
    """Show the words, or one of them."""
    top = context.find_root()
    chosen = cli.get_command(top, command) if command else None
    if command and chosen is None:
        raise UsageError(f'Unknown "{command}".', hint="nbrewind help lists the words.")
    click.echo(chosen.get_help(click.Context(chosen, info_name=command, parent=top)) if chosen else cli.get_help(top))


def _flags(**chosen: bool) -> frozenset[str]:
    return frozenset(name for name, is_set in chosen.items() if is_set)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; the exit status is that of the error's class (docs/commands.md)."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = cli.main(words, prog_name="nbrewind", standalone_mode=False)
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
