"""The table of classes: what a rewind does with an object of each, tested row by row and shown in `docs/classes.md`."""

from __future__ import annotations

from tests.conformance.class_row import How, Row
from tests.conformance.class_rows_arrays import ARRAYS
from tests.conformance.class_rows_builtins import BUILTINS
from tests.conformance.class_rows_code import CODE
from tests.conformance.class_rows_learning import LEARNING
from tests.conformance.class_rows_pictures import PICTURES
from tests.conformance.class_rows_stdlib import STDLIB
from tests.conformance.class_rows_system import SYSTEM
from tests.conformance.class_rows_tables import TABLES
from tests.conformance.class_rows_texts import TEXTS
from tests.conformance.class_rows_threads import THREADS

__all__ = ["TABLE", "How", "Row"]

TABLE: tuple[Row, ...] = (
    *(*BUILTINS, *CODE, *STDLIB, *TEXTS, *SYSTEM, *THREADS),
    *(*ARRAYS, *TABLES, *LEARNING, *PICTURES),
)
