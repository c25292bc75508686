"""The files resource: what of a workspace is covered, seen, kept and put back."""
