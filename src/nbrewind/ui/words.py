"""Words: what a person typed after `%rewind`, as one checked call."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nbrewind.errors import UsageError, clipped
from nbrewind.ui.vocabulary import ALIASES, GO, MEANT, ONLY, VERBS, Verb

__all__ = ["Call", "Word", "call_of", "parse", "split", "suggestion"]

_VALUED = frozenset({"only", "from", "as"})
_OPTIONS = GO | _VALUED
_TARGET = re.compile(r"^(?:-?\d+|\[\d+\]|\d+@[\d:]+)$")
_BLANK = " \t\r\n"
_LONGEST_NUMBER = 9


@dataclass(frozen=True, slots=True)
class Word:
    """One word; *quoted* where the person put it in quotes, so that `"3"` is a name and `3` a cell."""

    text: str
    quoted: bool = False

    @property
    def target(self) -> str:
        """Return the word as targets are read."""
        return f'"{self.text}"' if self.quoted else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A verb with its words and options, checked. *target* and *paths* are what the verb acts on."""

    verb: str
    target: str = ""
    paths: tuple[str, ...] = ()
    text: str = ""
    only: tuple[str, ...] = ()
    destination: str = ""
    flags: frozenset[str] = field(default_factory=frozenset)

    def has(self, flag: str) -> bool:
        """Return whether `--flag` was given."""
        return flag in self.flags


def split(line: str) -> list[Word]:
    """Return the words of *line*, quotes taken off. A backslash is an ordinary character unless a space, a quote or
    another backslash follows: odd file names can be typed as they are shown.

    Raises:
        UsageError: a quote is not closed.
    """  # noqa: D205
    words: list[Word] = []
    at, end = 0, len(line)
    while at < end:
        if line[at] in _BLANK:
            at += 1
            continue
        text: list[str] = []
        quoted = False
        while at < end and line[at] not in _BLANK:
            char = line[at]
            if char in "'\"" and (not text or quoted or line[at - 1] == "="):
                close = line.find(char, at + 1)
                if close < 0:
                    raise UsageError(f"A quote is not closed: {clipped(line[at:])}. Nothing changed.")
                text.append(line[at + 1 : close])
                quoted = quoted or not text[:-1]
                at = close + 1
            elif char == "\\" and at + 1 < end and line[at + 1] in " \\'\"":
                text.append(line[at + 1])
                at += 2
            else:
                text.append(char)
                at += 1
        words.append(Word("".join(text), quoted))
    return words


def parse(line: str) -> Call:
    """Return the call that *line* means.

    Raises:
        UsageError: with a suggestion.
    """
    words = split(line)
    if not words or (words[0].text.startswith("--") and not words[0].quoted):
        words = [Word("list"), *words]
    first = words[0]
    name = ALIASES.get(first.text, first.text) if not first.quoted else first.target
    if _TARGET.match(first.text) and not first.quoted:
        name, words = "to", [Word("to"), *words]
    verb = VERBS.get(name)
    if verb is None:
        raise _unknown(first, words)
    if verb.raw:
        return _raw_call(verb, line, words)
    # Completion writes `6  # !rm -rf raw`: what follows a lone # is for the reader.
    comment = next((place for place, word in enumerate(words) if word.text == "#" and not word.quoted), len(words))
    flags, values, rest = _options(verb, words[1:comment])
    return _call(verb, flags, values, rest, alias=first.text)


def call_of(
    verb: str, words: Sequence[str], flags: frozenset[str] = frozenset(), values: Mapping[str, str] | None = None
) -> Call:
    """Return the call of *verb* with words and options that a shell has split already.

    Raises:
        UsageError: with a suggestion.
    """
    for word in words:
        if word.startswith("--"):
            raise UsageError(f'Unknown option "{clipped(word)}". Nothing changed.', hint=f"%rewind {VERBS[verb].usage}")
    given = {name: value for name, value in (values or {}).items() if value}
    # The shell took the quotes off; more than one word in one argument can only be a name.
    rest = [Word(word[1:-1], True) if _is_quoted(word) else Word(word) for word in words]
    return _call(VERBS[verb], flags, given, rest, alias=verb)


def _is_quoted(word: str) -> bool:
    return len(word) > 1 and word[0] == word[-1] and word[0] in "'\""


def suggestion(word: str, known: Sequence[str]) -> str:
    """Return the known word that *word* was meant to be, or ""."""
    return next(iter(difflib.get_close_matches(clipped(word.lower()), known, n=1, cutoff=0.6)), "")


def _unknown(first: Word, words: list[Word]) -> UsageError:
    meant = MEANT.get(first.text.lower(), "")
    if not meant:
        close = suggestion(first.text, [*VERBS, *ALIASES])
        meant = VERBS[ALIASES.get(close, close)].usage if close else ""
    argument = words[1].text[:20] if len(words) > 1 and _TARGET.match(words[1].text) else ""
    if argument:
        meant = re.sub(r"\b[NK]\b|\[K\]", argument, meant)
    hint = f"Did you mean: %rewind {meant}?" if meant else "%rewind help lists the words."
    return UsageError(f'Unknown "{clipped(first.text)}". Nothing changed.', hint=hint)


def _raw_call(verb: Verb, line: str, words: list[Word]) -> Call:
    flags = frozenset(word.text[2:] for word in words[1:] if word.text in ("--json",) and not word.quoted)
    texts = [word.text for word in words[1:] if word.quoted or word.text != "--json"]
    if not texts:
        raise _usage(verb, "Say more: ")
    return Call(verb=verb.name, text=" ".join(texts), flags=flags)


def _options(verb: Verb, words: list[Word]) -> tuple[frozenset[str], dict[str, str], list[Word]]:
    flags: set[str] = set()
    values: dict[str, str] = {}
    rest: list[Word] = []
    pending = list(words)
    while pending:
        word = pending.pop(0)
        if word.quoted or not word.text.startswith("-") or _TARGET.match(word.text) or word.text == "-":
            rest.append(word)
            continue
        if word.text == "--":
            rest += pending
            break
        name, _, value = word.text.lstrip("-").partition("=")
        name = {"y": "yes", "f": "force"}.get(name, name)
        _check_option(verb, word.text, name)
        if name not in _VALUED:
            flags.add(name)
        elif "=" in word.text:
            values[name] = value
        else:
            values[name] = _value(verb, name, pending)
    return frozenset(flags), values, rest


def _check_option(verb: Verb, typed: str, name: str) -> None:
    if name in verb.options:
        return
    close = suggestion(name, sorted(verb.options))
    if name in _OPTIONS and not close:
        raise UsageError(
            f"%rewind {verb.name} does not take {clipped(typed)}. Nothing changed.", hint=f"%rewind {verb.usage}"
        )
    hint = f"Did you mean --{close}?" if close else f"%rewind {verb.usage}"
    raise UsageError(f'Unknown option "{clipped(typed)}". Nothing changed.', hint=hint)


def _value(verb: Verb, name: str, pending: list[Word]) -> str:
    if not pending:
        raise UsageError(f"--{name} needs a value: %rewind {verb.usage}. Nothing changed.")
    word = pending.pop(0)
    if name == "from" and word.text in ("before", "after") and not word.quoted and pending:
        return f"{word.text} {pending.pop(0).target}"
    return word.target if name == "from" else word.text


def _call(verb: Verb, flags: frozenset[str], values: Mapping[str, str], rest: list[Word], alias: str) -> Call:
    if len(rest) < verb.least:
        raise _usage(verb, "Say more: ")
    if verb.most >= 0 and len(rest) > verb.most:
        raise _usage(verb, "Too many words: ", rest)
    only = _only(values)
    meaning = _MEANINGS.get(verb.name, _paths)
    target, paths, text = meaning(verb, values, rest, alias)
    return Call(
        verb=verb.name,
        target=target,
        paths=paths,
        text=text,
        only=only,
        destination=values.get("as", ""),
        flags=flags,
    )


def _only(values: Mapping[str, str]) -> tuple[str, ...]:
    only = tuple(part.strip() for part in values.get("only", "").split(",") if part.strip())
    for part in only:
        if part not in ONLY:
            close = suggestion(part, ONLY)
            raise UsageError(
                f"--only takes {', '.join(ONLY)}, not {clipped(part)!r}. Nothing changed.",
                hint=f"Did you mean {close}?" if close else "",
            )
    if "only" in values and not only:
        raise UsageError(f"--only needs one of {', '.join(ONLY)}. Nothing changed.")
    return only


# -- what the words of a verb mean: target, paths and text -------------------------------------------------------------

_Meaning = tuple[str, tuple[str, ...], str]


def _paths(_verb: Verb, _values: Mapping[str, str], rest: list[Word], _alias: str) -> _Meaning:
    return "", tuple(word.text for word in rest), ""


def _place(verb: Verb, _values: Mapping[str, str], rest: list[Word], _alias: str) -> _Meaning:
    target = " ".join(word.target for word in rest)
    if len(rest) == 2 and rest[0].text not in ("before", "after"):
        raise _usage(verb, "Too many words: ", rest)
    return (f"before {target}" if verb.name == "before" else target), (), ""


def _steps(_verb: Verb, _values: Mapping[str, str], rest: list[Word], _alias: str) -> _Meaning:
    number = rest[0].text.lstrip("-")[:_LONGEST_NUMBER] if rest else "1"
    if not number.isdecimal() or int(number) < 1:
        raise UsageError(f"back takes a number of cells, not {clipped(rest[0].text)!r}. Nothing changed.")
    return f"-{int(number)}", (), ""


def _place_and_path(verb: Verb, _values: Mapping[str, str], rest: list[Word], _alias: str) -> _Meaning:
    head = 2 if rest[0].text in ("before", "after") and not rest[0].quoted and len(rest) > 1 else 1
    paths = tuple(word.text for word in rest[head:])
    if len(paths) > 1 or (verb.name == "cat" and not paths):
        raise _usage(verb, "", rest[head:])
    return " ".join(word.target for word in rest[:head]), paths, ""


def _paths_from(verb: Verb, values: Mapping[str, str], rest: list[Word], alias: str) -> _Meaning:
    target, paths = values.get("from", ""), tuple(word.text for word in rest)
    if alias == "files" and not target and len(rest) > 1:
        target, paths = rest[0].target, paths[1:]
    if not target:
        raise _usage(verb, "Say from when: ")
    return target, paths, ""


def _whole_place(_verb: Verb, _values: Mapping[str, str], rest: list[Word], _alias: str) -> _Meaning:
    return " ".join(word.target for word in rest), (), ""


def _text(_verb: Verb, _values: Mapping[str, str], rest: list[Word], _alias: str) -> _Meaning:
    return "", (), " ".join(word.text for word in rest)


_MEANINGS: Mapping[str, Callable[[Verb, Mapping[str, str], list[Word], str], _Meaning]] = {
    **dict.fromkeys(("to", "before", "show"), _place),
    "back": _steps,
    **dict.fromkeys(("cat", "diff"), _place_and_path),
    **dict.fromkeys(("restore", "get"), _paths_from),
    "recover": _whole_place,
    **dict.fromkeys(("confirm", "help", "forget"), _text),
}


def _usage(verb: Verb, what: str, rest: Sequence[Word] = ()) -> UsageError:
    together = clipped(" ".join(word.text for word in rest))
    hint = f'Put names and paths with spaces in quotes: "{together}".' if rest else ""
    return UsageError(f"{what}%rewind {verb.usage}. Nothing changed.", hint=hint)
