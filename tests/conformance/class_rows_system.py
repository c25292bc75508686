"""Rows of the standard library's files and other handles of the operating system."""

from __future__ import annotations

from tests.conformance.class_row import Row, reference, value

__all__ = ["SYSTEM"]

_SYSTEM = "it is a handle of the operating system"
_OTHERS = "other code waits at this very object"
_FILE = "open('f.txt', 'w').write('a\\nb\\nc\\n'); "

_FILES = (
    value(
        "io.StringIO",
        "import io; x = io.StringIO('a\\nb'); x.readline()",
        "x.read(); x.write('c')",
        "(x.getvalue(), x.tell())",
    ),
    value("io.BytesIO", "import io; x = io.BytesIO(b'abc'); x.read(1)", "x.write(b'z')", "(x.getvalue(), x.tell())"),
    reference(
        "io.TextIOWrapper, read",
        "with open('f.txt', 'w') as f: f.write('a\\nb\\nc\\n')\nx = open('f.txt'); x.readline()",
        "x.readline()",
        "(x.name.endswith('f.txt'), x.mode, x.tell())",
        settles=True,
        revives=True,
        after="x.close()",
        why="the same open file, or a new one at its path, mode and position",
    ),
    reference(
        "io.BufferedReader",
        "with open('f.txt', 'w') as f: f.write('a\\nb\\nc\\n')\nx = open('f.txt', 'rb'); x.read(1)",
        "x.read(1)",
        "(x.name.endswith('f.txt'), x.mode, x.tell())",
        settles=True,
        revives=True,
        after="x.close()",
        why="the same open file, or a new one at its path, mode and position",
    ),
    reference(
        "io.FileIO",
        "with open('f.txt', 'w') as f: f.write('a\\nb\\nc\\n')\nx = open('f.txt', 'rb', buffering=0); x.read(1)",
        "x.read(1)",
        "(x.mode, x.tell())",
        settles=True,
        revives=True,
        after="x.close()",
        why="the same open file, or a new one at its path, mode and position",
    ),
    reference(
        "io.TextIOWrapper, write",
        "x = open('g.txt', 'w'); x.write('a'); x.flush()",
        "x.write('b'); x.flush()",
        "x.mode",
        after="x.close()",
        unseen=True,
        says="still open here",
        why="the file's bytes go back; opening one anew for writing would empty it",
    ),
    reference(
        "io.TextIOWrapper over memory",
        "import io; x = io.TextIOWrapper(io.BytesIO(b'a\\nb\\n')); x.readline()",
        "x.readline()",
        "x.tell()",
        why="how far it has read ahead cannot be written",
    ),
    reference(
        "standard stream",
        "import sys; x = sys.__stdout__",
        look="x is sys.__stdout__",
        settles=True,
        revives=True,
        why="it is the process's own",
    ),
    reference(
        "csv.reader",
        "import csv; x = csv.reader(['a,b', 'c,d']); next(x)",
        "next(x)",
        "x.line_num",
        why="it cannot be read where it stands",
    ),
    reference(
        "csv.DictReader",
        "import csv; x = csv.DictReader(['a,b', '1,2', '3,4']); next(x)",
        "next(x)",
        "x.line_num",
        why="it cannot be read where it stands",
    ),
    reference(
        "csv.writer",
        "import csv, io; s = io.StringIO(); x = csv.writer(s)",
        look="x.dialect.delimiter",
        why="what it writes to cannot be read off it",
    ),
    reference(
        "zipfile.ZipFile",
        "import zipfile; x = zipfile.ZipFile('z.zip', 'w')",
        "x.writestr('a', 'b')",
        "x.namelist()",
        after="x.close()",
        why=_SYSTEM,
    ),
    reference(
        "gzip.GzipFile",
        "import gzip; x = gzip.open('z.gz', 'wb')",
        "x.write(b'a')",
        "x.size",
        after="x.close()",
        why=_SYSTEM,
    ),
    reference(
        "tarfile.TarFile",
        "import tarfile; x = tarfile.open('t.tar', 'w')",
        look="x.mode",
        after="x.close()",
        why=_SYSTEM,
    ),
    reference(
        "tempfile.NamedTemporaryFile",
        "import tempfile; x = tempfile.NamedTemporaryFile()",
        "x.write(b'a')",
        "x.tell()",
        after="x.close()",
        why="the file goes with it",
    ),
    reference(
        "tempfile.SpooledTemporaryFile",
        "import tempfile; x = tempfile.SpooledTemporaryFile()",
        "x.write(b'a')",
        "x.tell()",
        after="x.close()",
        why="the file goes with it",
    ),
    reference(
        "mmap.mmap",
        "import mmap; x = mmap.mmap(-1, 100)",
        "x[0] = 65",
        "x[0]",
        after="x.close()",
        why="its memory belongs to the system, and others may share it",
    ),
    reference("os.scandir iterator", "import os; x = os.scandir('.')", after="x.close()", why=_SYSTEM),
    reference(
        "socket.socket",
        "import socket; x = socket.socket()",
        "x.settimeout(5)",
        "x.gettimeout()",
        after="x.close()",
        why=_SYSTEM,
    ),
    reference("select.epoll", "import select; x = select.epoll()", look="x.closed", after="x.close()", why=_SYSTEM),
    reference(
        "selectors.DefaultSelector", "import selectors; x = selectors.DefaultSelector()", after="x.close()", why=_SYSTEM
    ),
    reference(
        "http.client.HTTPConnection, connected",
        "import http.client, socket; s = socket.socket(); x = http.client.HTTPConnection('h'); x.sock = s",
        "x.timeout = 5",
        "x.timeout",
        after="x.close(); s.close()",
        why="it holds a socket",
    ),
    reference(
        "subprocess.Popen",
        "import subprocess; x = subprocess.Popen(['true']); _ = x.wait()",
        look="x.returncode",
        why="it is a child of this process",
    ),
    reference(
        "sqlite3.Connection in memory",
        "import sqlite3; x = sqlite3.connect(':memory:'); _ = x.executescript("
        "'create table t(a); insert into t values (1)')",
        "_ = x.execute('insert into t values (2)')",
        "x.execute('select a from t').fetchall()",
        settles=True,
        revives=True,
        after="x.close()",
        why="the same connection, or a new one, with the content of then",
    ),
    reference(
        "sqlite3.Connection to a file",
        "import sqlite3; x = sqlite3.connect('db'); _ = x.execute('create table t(a)')",
        "x.isolation_level = None",
        "x.isolation_level",
        after="x.close()",
        why="the file has its own history; the connection is a handle",
    ),
    reference(
        "sqlite3.Cursor",
        "import sqlite3; c = sqlite3.connect(':memory:'); x = c.execute('select 1 union select 2')",
        "x.fetchone()",
        after="c.close()",
        unseen=True,
        why="it is a running query",
    ),
)

SYSTEM: tuple[Row, ...] = _FILES
