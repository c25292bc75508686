"""The `%rewind` magic: a line of words in, a page out; what fails is one line and stops the queue."""

from __future__ import annotations

import hashlib
import logging
import sys
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError as ShellError
from IPython.core.magic import Magics, line_magic, magics_class, no_var_expand

from nbrewind.errors import RewindError, StoreError, UsageError
from nbrewind.session.current import current, declined
from nbrewind.ui.absence import look_without
from nbrewind.ui.completion import complete
from nbrewind.ui.manual import help_page
from nbrewind.ui.page import Page
from nbrewind.ui.payload import error_data, to_json
from nbrewind.ui.render import to_bundle, to_plain
from nbrewind.ui.story import error_text
from nbrewind.ui.verbs import Desk
from nbrewind.ui.vocabulary import MOVING
from nbrewind.ui.words import Call, parse

__all__ = ["RewindMagics", "emit", "install", "offer_panels", "uninstall"]

_LOG = logging.getLogger("nbrewind")
_OFF = UsageError("nbrewind is not on in this kernel. Nothing changed.", hint="%load_ext nbrewind turns it on.")


@magics_class
class RewindMagics(Magics):
    """`%rewind` over the session of this process.

    A refusal is IPython's own UsageError: it shows as one line without a traceback, and the cells that "Run All" has
    queued behind it do not run on a state that nobody asked for.
    """

    show_panel: Callable[[str], Page] | None = None
    """Gives a page with a panel for the cell of that name; set by whoever can make one."""
    answer: Callable[[Desk, str], Page | None] | None = None
    """Gives a page with the buttons that answer a preview; None where there can be none."""

    @no_var_expand
    @line_magic
    def rewind(self, line: str) -> Any:
        """List points, look at them, and go back to one: %rewind help."""
        as_json = "--json" in line.split()
        try:
            call = parse(line)
            page = self._page(call, line)
        except RewindError as error:
            if as_json:
                emit(to_json(error_data(error)))
            raise ShellError(error_text(error)) from None
        except Exception as error:  # noqa: BLE001  the top handler of this front end
            # A fault of ours must not look like one of the cell, and must stop the queue all the same.
            _LOG.error("%%rewind %s failed", line, exc_info=True)
            raise ShellError(
                f"nbrewind failed: {type(error).__name__}: {error}. %rewind status says how things stand."
            ) from None
        if call.verb == "get":
            return page.value
        self._show(page, call)
        return None

    def _page(self, call: Call, line: str) -> Page:
        if call.verb == "help":
            return help_page(call)
        session, why = current(), declined()
        if session is None:
            if why is None:
                raise _OFF
            return look_without(why, call)
        desk = Desk(
            session=session,
            headless=_is_headless(self.shell),
            asked_by=_asking_cell(self.shell, line),
            user_names=self.shell.user_ns if self.shell is not None else None,
            show_panel=self.show_panel,
        )
        if call.verb not in MOVING:
            return desk.run(call)
        page = session.on_main_thread(lambda: desk.run(call))
        token = (page.data.get("plan") or {}).get("token") if call.verb in ("back", "to", "before") else None
        if token and self.answer is not None and not desk.headless and not call.has("json"):
            page.below = self.answer(desk, token)
        return page

    def _show(self, page: Page, call: Call) -> None:
        if call.has("json"):
            emit(to_json(page.data))
        elif self.shell is not None and hasattr(self.shell, "kernel"):
            self.shell.display_pub.publish(data=to_bundle(page))
            if page.below is not None:
                self.shell.display_pub.publish(data=to_bundle(page.below))
        else:
            emit(to_plain(page))
        if page.exit_status:
            raise ShellError(StoreError("What is named above is damaged.").message)


def emit(text: str) -> None:
    """Print *text*, with escapes where the terminal's encoding lacks a character."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    print(text.encode(encoding, "backslashreplace").decode(encoding))  # noqa: T201  what a magic says


def _request(shell: Any) -> dict[str, Any]:
    """Return the message that this cell came by; empty outside kernels."""
    ask = getattr(shell, "get_parent", None)
    found = ask() if callable(ask) and hasattr(shell, "kernel") else None
    return found if isinstance(found, dict) else {}


def _asking_cell(shell: Any, line: str) -> str:
    """Return a name for the saved notebook cell that asks; "" where the front end keeps no cell ids."""
    request = _request(shell)
    content, metadata = request.get("content") or {}, request.get("metadata") or {}
    cell_id = metadata.get("cellId") or metadata.get("cell_id")
    if not cell_id or content.get("silent"):
        return ""
    told = "\0".join((str(cell_id), str(content.get("code", "")), line))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


def _is_headless(shell: Any) -> bool:
    """Return whether nobody can answer a preview: a batch run, or a script given to `ipython`."""
    request = _request(shell)
    if request:
        return (request.get("content") or {}).get("allow_stdin") is False
    from IPython.terminal.ipapp import TerminalIPythonApp

    if not TerminalIPythonApp.initialized():
        return hasattr(shell, "kernel")
    app = TerminalIPythonApp.instance()
    return bool(getattr(app, "something_to_run", False)) and not getattr(app, "interact", True)


# -- putting it into a shell, and taking it out without a trace --------------------------------------------------------

_HOOK = "complete_command"
_PREVIOUS = "_nbrewind_previous_magic"


def install(shell: Any) -> None:
    """Add `%rewind` and its completion to *shell*. Twice is fine."""
    lines = shell.magics_manager.magics["line"]
    before = lines.get("rewind")
    if before is not None and not isinstance(getattr(before, "__self__", None), RewindMagics):
        setattr(shell, _PREVIOUS, before)
    shell.register_magics(RewindMagics(shell))
    uninstall_completion(shell)
    for key in ("%rewind", "rewind"):
        shell.set_hook(_HOOK, _completer, str_key=key)


def offer_panels(shell: Any, show_panel: Callable[[str], Page], answer: Callable[[Desk, str], Page | None]) -> None:
    """Let `%rewind panel` show what *show_panel* gives, and put what *answer* gives below previews."""
    magic = shell.magics_manager.registry.get(RewindMagics.__name__)
    if magic is not None:
        magic.show_panel, magic.answer = show_panel, answer


def uninstall(shell: Any) -> None:
    """Take `%rewind` out again and put back what had that name before."""
    lines = shell.magics_manager.magics["line"]
    if isinstance(getattr(lines.get("rewind"), "__self__", None), RewindMagics):
        del lines["rewind"]
    previous = shell.__dict__.pop(_PREVIOUS, None)
    if previous is not None:
        lines["rewind"] = previous
    shell.magics_manager.registry.pop(RewindMagics.__name__, None)
    uninstall_completion(shell)


def uninstall_completion(shell: Any) -> None:
    """Take the completer out of the shell's table."""
    table: Any = getattr(shell, "strdispatchers", {}).get(_HOOK)
    for key in ("%rewind", "rewind"):
        chain = getattr(table, "strs", {}).get(key)
        if chain is not None:
            chain.chain = [(rank, found) for rank, found in chain.chain if not _is_ours(found)]
            if not chain.chain:
                del table.strs[key]


def _is_ours(function: Callable[..., Any]) -> bool:
    return getattr(function, "__func__", function) is _completer


def _completer(shell: Any, event: Any) -> list[str]:
    session = current()
    if session is None:
        return []
    try:
        return complete(session, str(event.line), str(event.symbol))
    except (RewindError, OSError, ValueError):
        return []
