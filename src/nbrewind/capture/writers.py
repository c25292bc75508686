"""Libraries that write files without any event that Python could see, with the endings of what they write."""

from __future__ import annotations

import re
import sys
from types import MappingProxyType
from typing import Final

__all__ = ["NATIVE_WRITERS", "loaded_writers", "written_by"]

_GEO: Final = (".gpkg", ".shp", ".shx", ".dbf", ".prj", ".cpg", ".geojson", ".fgb", ".tif", ".tiff", ".vrt")
_HDF: Final = (".h5", ".hdf5", ".hdf", ".he5", ".h5ad", ".keras")
_IMAGES: Final = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".exr", ".ppm", ".pgm")
_VIDEO: Final = (".avi", ".mp4", ".mkv", ".mov", ".webm")

NATIVE_WRITERS: Final = MappingProxyType(
    {
        "pyarrow": (
            ".parquet",
            ".pq",
            ".feather",
            ".arrow",
            ".arrows",
            ".ipc",
            ".orc",
            ".csv",
            ".gz",
            ".zst",
            ".snappy",
        ),
        "polars": (".parquet", ".csv", ".ipc", ".arrow", ".feather", ".ndjson", ".jsonl", ".json", ".avro", ".xlsx"),
        "duckdb": (".duckdb", ".ddb", ".db", ".wal", ".parquet", ".csv", ".json"),
        "h5py": _HDF,
        "tables": _HDF,
        "netCDF4": (".nc", ".nc4", ".cdf"),
        "cv2": (*_IMAGES, *_VIDEO, ".yml", ".yaml", ".xml", ".json"),
        "av": (*_VIDEO, ".mp3", ".wav"),
        "lxml": (".xml", ".html", ".xhtml", ".svg", ".xsl", ".kml", ".gpx"),
        "torch": (".pt", ".pth", ".ckpt", ".bin", ".jit", ".pt2"),
        "safetensors": (".safetensors",),
        "tensorflow": (*_HDF, ".tfrecord", ".index", ".pb", ".ckpt", ".tflite", ".pbtxt"),
        "onnx": (".onnx",),
        "xgboost": (".json", ".ubj", ".model", ".bin", ".deprecated"),
        "lightgbm": (".txt", ".model", ".bin"),
        "catboost": (".cbm", ".json", ".tsv"),
        "faiss": (".index", ".faiss", ".ivfdata"),
        "osgeo": _GEO,
        "fiona": _GEO,
        "pyogrio": _GEO,
        "rasterio": _GEO,
        "soundfile": (".wav", ".flac", ".ogg", ".mp3"),
        "SimpleITK": (".nii", ".nrrd", ".mha", ".mhd", ".raw", ".dcm", ".gz"),
        "pyvips": _IMAGES,
        "lmdb": (".mdb",),
        "deltalake": (".parquet", ".json", ".crc"),
        "lance": (".lance", ".manifest", ".txn"),
        "_gdbm": (".db", ".gdbm", ".dat"),
        "_dbm": (".db", ".dir", ".pag"),
        "sqlite3": (".db", ".db3", ".sqlite", ".sqlite3", ".gpkg"),
        "sentencepiece": (".model", ".vocab"),
    }
)
"""Top-level module → endings."""
_EDITED_BY_HAND: Final = (
    ".csv",
    ".json",
    ".txt",
    ".xml",
    ".html",
    ".xhtml",
    ".svg",
    ".yml",
    ".yaml",
    ".tsv",
    ".geojson",
)
_SQLITE_SIBLINGS: Final = ("-wal", "-journal", "-shm")


def loaded_writers() -> frozenset[str]:
    """Return the native writers that are loaded in this process."""
    return frozenset(name for name in NATIVE_WRITERS if name in sys.modules)


def written_by(path: str, writers: frozenset[str], code: str) -> str:
    """Return the loaded writer that may have written *path*, "" if none.

    Either the ending is one that it writes, or *code* names the file or a folder above it. People save text files by
    hand and SQLite is loaded in every IPython process, so for these it takes both.
    """
    lowered = path.lower()
    for ending in _SQLITE_SIBLINGS:
        lowered = lowered.removesuffix(ending)
    named = _named(path, code)
    for name in sorted(writers):
        if lowered.endswith(NATIVE_WRITERS[name]) and (
            named or not (name == "sqlite3" or lowered.endswith(_EDITED_BY_HAND))
        ):
            return name
    others = sorted(writers - {"sqlite3"})
    return others[0] if others and named else ""


def _named(path: str, code: str) -> bool:
    """Return whether *code* has the file's name as a word, or a folder above it between quotes or slashes."""
    *folders, name = path.strip("/").split("/")
    if re.search(rf"(?<![\w.\-]){re.escape(name)}(?![\w\-])", code):
        return True
    return any(re.search(rf"['\"/]{re.escape(folder)}['\"/]", code) for folder in folders[-3:])
