"""The shadow repository, where every file content, code and output is kept."""

from nbrewind.store.shadow.chunks import CHUNK, LARGE, ZEROS
from nbrewind.store.shadow.objects import TreeEntry, Unstable
from nbrewind.store.shadow.repository import ShadowRepository
from nbrewind.store.shadow.writer import PackWriter, Stored

__all__ = ["CHUNK", "LARGE", "ZEROS", "PackWriter", "ShadowRepository", "Stored", "TreeEntry", "Unstable"]
