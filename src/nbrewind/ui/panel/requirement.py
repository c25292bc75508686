"""What a panel needs: asked before anything is loaded that cannot be without it."""

from __future__ import annotations

from nbrewind.errors import UsageError

__all__ = ["require_widgets"]


def require_widgets() -> None:
    """Refuse where ipywidgets is missing or too old.

    Raises:
        UsageError: with the way out.
    """
    try:
        import ipywidgets
    except ImportError:
        found = "which is not installed"
    else:
        version = str(ipywidgets.__version__)
        if int(version.partition(".")[0]) >= 8:
            return
        found = f"and this is {version}"
    raise UsageError(
        f"The panel needs ipywidgets 8, {found}. Nothing changed.",
        hint="pip install 'ipywidgets>=8', restart the kernel; %rewind works without it.",
    )
