"""One row of the table of classes: how to make an object, how to change it, and how it has to come back."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["How", "Row", "named", "reference", "value"]


class How(StrEnum):
    """What a rewind does with an object of the class."""

    VALUE = "value"
    REFERENCE = "reference"
    NAMED = "named"


@dataclass(frozen=True, slots=True)
class Row:
    """*make* binds `x`; *change* changes that object where it is (empty for what cannot change); *look* shows it.

    *why*, for what does not come back by value. *settles*: where the same object is put back, its state is too.
    *revives*: a new one is made where it is dead. *says*: what a rewind has to say of it by name. *after* frees what
    the row took. *unseen*: *look* cannot see *change*.
    """

    name: str
    make: str
    change: str = ""
    look: str = "x"
    how: How = How.VALUE
    needs: str = ""
    why: str = ""
    settles: bool = True
    revives: bool = True
    says: str = ""
    after: str = ""
    unseen: bool = False


def value(name: str, make: str, change: str = "", look: str = "x", **more: str) -> Row:
    """Return the row of a class that comes back from the store alone, with nothing to say."""
    return Row(name, make, change, look, **more)  # type: ignore[arg-type]  # texts only


def reference(
    name: str,
    make: str,
    change: str = "",
    look: str = "None",
    *,
    why: str,
    after: str = "",
    needs: str = "",
    settles: bool = False,
    revives: bool = False,
    says: str = "",
    unseen: bool = False,
) -> Row:
    """Return the row of a class whose very object is put back while it is alive."""
    return Row(name, make, change, look, How.REFERENCE, needs, why, settles, revives, says, after, unseen)


def named(
    name: str,
    make: str,
    change: str = "",
    look: str = "x",
    *,
    why: str,
    says: str,
    needs: str = "",
    after: str = "",
    revives: bool = True,
) -> Row:
    """Return the row of a class that comes back but for a part, which is named."""
    return Row(name, make, change, look, How.NAMED, needs, why, revives=revives, says=says, after=after)
