"""Rows of the standard library's containers, numbers and times."""

from __future__ import annotations

from tests.conformance.class_row import Row, named, reference, value

__all__ = ["STDLIB"]

_COLLECTIONS = (
    value(
        "collections.OrderedDict",
        "import collections; x = collections.OrderedDict(a=1, b=[2])",
        "x.move_to_end('a')",
        "list(x.items())",
    ),
    value(
        "collections.defaultdict",
        "import collections; x = collections.defaultdict(list, a=[1])",
        "x['b']",
        "(dict(x), x.default_factory)",
    ),
    value(
        "collections.defaultdict of a lambda",
        "import collections; x = collections.defaultdict(lambda: [1])",
        "x['b']",
        "(dict(x), x.default_factory())",
    ),
    value("collections.Counter", "import collections; x = collections.Counter('aab')", "x['c'] += 1"),
    value(
        "collections.deque",
        "import collections; x = collections.deque([1, [2]], 3)",
        "x.rotate(1)",
        "(list(x), x.maxlen)",
    ),
    value("collections.ChainMap", "import collections; x = collections.ChainMap({}, {'a': 1})", "x['b'] = 1", "x.maps"),
    value("collections.UserDict", "import collections; x = collections.UserDict(a=1)", "x['b'] = 1", "x.data"),
    value("collections.UserList", "import collections; x = collections.UserList([1])", "x.append(2)", "x.data"),
    value("collections.UserString", "import collections; x = collections.UserString('a')", "x.data = 'b'", "x.data"),
    value("array.array", "import array; x = array.array('d', [1, 2])", "x.append(3)", "(x.typecode, x.tolist())"),
    named(
        "queue.Queue",
        "import queue; x = queue.Queue(5); x.put([1])",
        "x.put(2)",
        "(list(x.queue), x.maxsize)",
        why="its lock is the same while it lives",
        says="ock",
    ),
    named(
        "queue.PriorityQueue",
        "import queue; x = queue.PriorityQueue(); x.put(2)",
        "x.put(1)",
        "sorted(x.queue)",
        why="its lock is the same while it lives",
        says="ock",
    ),
    reference(
        "queue.SimpleQueue",
        "import queue; x = queue.SimpleQueue(); x.put(1)",
        "x.put(2)",
        "x.qsize()",
        why="its content cannot be read without taking it out",
    ),
    value("heap", "import heapq; x = [3, 1, 2]; heapq.heapify(x)", "heapq.heappop(x)"),
)

_NUMBERS = (
    value("datetime.date", "import datetime; x = datetime.date(2026, 2, 3)"),
    value("datetime.time", "import datetime; x = datetime.time(1, 2, fold=1)", look="(x, x.fold)"),
    value("datetime.datetime", "import datetime; x = datetime.datetime(2026, 2, 3, tzinfo=datetime.timezone.utc)"),
    value("datetime.timedelta", "import datetime; x = datetime.timedelta(days=2, microseconds=3)"),
    value(
        "datetime.timezone",
        "import datetime; x = datetime.timezone(datetime.timedelta(hours=2), 'Z')",
        look="x.tzname(None)",
    ),
    value(
        "zoneinfo.ZoneInfo",
        "import zoneinfo; x = zoneinfo.ZoneInfo('Europe/Berlin')",
        look="(x.key, x is zoneinfo.ZoneInfo('Europe/Berlin'))",
    ),
    value("time.struct_time", "import time; x = time.gmtime(0)"),
    value(
        "calendar.TextCalendar", "import calendar; x = calendar.TextCalendar(2)", "x.firstweekday = 3", "x.firstweekday"
    ),
    value("decimal.Decimal", "import decimal; x = decimal.Decimal('1.10')", look="str(x)"),
    value("decimal.Context", "import decimal; x = decimal.Context(prec=5)", "x.prec = 9", "x.prec"),
    value("fractions.Fraction", "import fractions; x = fractions.Fraction(1, 3)"),
    value("uuid.UUID", "import uuid; x = uuid.UUID(int=5)"),
    value("random.Random", "import random; x = random.Random(1)", "x.random()", "x.getstate()"),
    value("random.SystemRandom", "import random; x = random.SystemRandom()", look="type(x).__name__"),
    value("statistics.NormalDist", "import statistics; x = statistics.NormalDist(1, 2)"),
    value("ipaddress.IPv4Address", "import ipaddress; x = ipaddress.ip_address('10.0.0.1')"),
    value("ipaddress.IPv6Address", "import ipaddress; x = ipaddress.ip_address('::1')"),
    value("ipaddress.IPv4Network", "import ipaddress; x = ipaddress.ip_network('10.0.0.0/8')"),
    value("ipaddress.IPv4Interface", "import ipaddress; x = ipaddress.ip_interface('10.0.0.1/8')"),
    value("struct.Struct", "import struct; x = struct.Struct('<hd')", look="(x.format, x.size)"),
    reference(
        "hashlib hash",
        "import hashlib; x = hashlib.sha256(b'a')",
        "x.update(b'b')",
        "x.hexdigest()",
        why="the state of OpenSSL's object cannot be read",
    ),
    reference(
        "hmac.HMAC",
        "import hmac; x = hmac.new(b'k', b'a', 'sha256')",
        "x.update(b'b')",
        "x.hexdigest()",
        why="the state of OpenSSL's object cannot be read",
    ),
    reference(
        "zlib.Compress",
        "import zlib; x = zlib.compressobj()",
        "x.compress(b'a')",
        why="zlib's state cannot be read",
        unseen=True,
    ),
    reference(
        "bz2.BZ2Compressor",
        "import bz2; x = bz2.BZ2Compressor()",
        "x.compress(b'a')",
        why="the state of the library cannot be read",
        unseen=True,
    ),
    reference(
        "lzma.LZMADecompressor",
        "import lzma; x = lzma.LZMADecompressor()",
        look="x.eof",
        why="the state of the library cannot be read",
    ),
)

STDLIB: tuple[Row, ...] = (*_COLLECTIONS, *_NUMBERS)
