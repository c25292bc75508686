"""Every row of the list of field faults that is about files has a test that bears its id."""

import re
from pathlib import Path

ROWS = """
B01 B03 B04 B07 B10 B11 B14 B15 B16 B17 B18 B20 B22 B23 B25 B26 B27 B28 B29 B30 B31 B32 B33 B34 B35 B36 B37 B38 B40
B41 B42 B43 B44 B45 B46 B47 B48 B49 B50 B52 B53 B54 B55 B56 B59 B62 B63 B64 B65 B67 B68 B70 B71 B73 B74 B75 B78 B80
B81 B82 B85 B89
"""


def test_every_row_has_a_test():
    sources = [path.read_text() for path in Path(__file__).parent.parent.rglob("test_*.py")]
    names = " ".join(name for source in sources for name in re.findall(r"def (test_\w+)", source))
    missing = [row for row in re.findall(r"B\d+", ROWS) if not re.search(rf"_{row.lower()}_", names)]
    assert missing == []
