"""The manual: what `%rewind help` says."""

from __future__ import annotations

from nbrewind.errors import UsageError, clipped
from nbrewind.ui.page import Page, Tone
from nbrewind.ui.vocabulary import VERBS
from nbrewind.ui.words import Call

__all__ = ["help_page"]


def help_page(call: Call) -> Page:
    """Return the words, all of them with `help all`, or one verb."""
    asked = call.text.split()
    everything = asked == ["all"]
    if asked and not everything and asked[0] not in VERBS:
        raise UsageError(f'Unknown "{clipped(asked[0])}". Nothing changed.', hint="%rewind help lists the words.")
    page = Page(data={"verbs": {verb.name: {"usage": verb.usage, "help": verb.help} for verb in VERBS.values()}})
    chosen = [VERBS[asked[0]]] if asked and not everything else VERBS.values()
    page.table([(f"%rewind {verb.usage}", verb.help) for verb in chosen if everything or asked or not verb.more])
    if asked and not everything:
        options = sorted(VERBS[asked[0]].options)
        return page.say("Options: " + ", ".join(f"--{option}" for option in options)) if options else page
    page.say('N is the number in the brackets: 3, "before 3", -1 (one back), 5@14:44, "NAME", start or an id.')
    page.say(
        "Options: --yes (without preview), --only files,outputs, --everything, --overwrite, --force, --json, --again."
    )
    if not everything:
        page.say("%rewind help all lists the rest.", Tone.MUTED)
    return page
