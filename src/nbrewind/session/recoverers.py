"""What puts a rewind in order that died, by the name of its resource."""

from __future__ import annotations

from nbrewind.resources import Recoverers
from nbrewind.resources.files.restore import files_recoverer
from nbrewind.resources.variables.restore import recover_variables

__all__ = ["recoverers"]


def recoverers(workspace: str) -> Recoverers:
    """Return the recoverers of all resources that a rewind of this *workspace* moves."""
    return {"files": files_recoverer(workspace), "variables": recover_variables}
