from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from nbrewind.store import frames
from nbrewind.store.frames import Damage, Frame, Torn, encode_frame, read_frames
from nbrewind.store.payload import MAX_CONTENT, NEEDS_ZSTANDARD, pack

SALT = b"saltsalt"
LINES = [b'{"number": %d, "text": "%s"}\n' % (number, b"abc" * number) for number in range(5)]


def _file(lines: list[bytes] = LINES, *, compress: bool = True, salt: bytes = SALT) -> bytes:
    data = b""
    for number, line in enumerate(lines):
        ids = (f"id-{number}", f"id-{number - 1}", "")
        data += encode_frame(line, salt=salt, offset=len(data), kind=2, ordinal=number, ids=ids, compress=compress)
    return data


def _contents(data: bytes) -> list[bytes]:
    return [item.content for item in read_frames(data) if isinstance(item, Frame)]


def _losses(data: bytes) -> list[Damage | Torn]:
    return [item for item in read_frames(data) if not isinstance(item, Frame)]


@pytest.fixture(params=[True, False], ids=["compressed", "raw"])
def whole(request: pytest.FixtureRequest) -> bytes:
    return _file(compress=request.param)


def test_frames_come_back_with_all_that_was_said_of_them(whole: bytes) -> None:
    found = list(read_frames(whole))

    assert _contents(whole) == LINES
    third = found[3]
    assert isinstance(third, Frame)
    assert (third.kind, third.ordinal, third.id, third.parent, third.grandparent) == (2, 3, "id-3", "id-2", "")
    assert sum(item.length for item in found) == len(whole)


def test_an_empty_file_holds_nothing() -> None:
    assert list(read_frames(b"")) == []


def test_any_zstd_reader_sees_the_lines(whole: bytes) -> None:
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(whole), read_across_frames=True) as reader:
        assert reader.read() == b"".join(LINES)


def test_other_readers_notice_damage_in_compressed_text_too() -> None:
    _, payload = pack(LINES[4])

    assert zstandard.get_frame_parameters(payload).has_checksum


@pytest.mark.skipif(shutil.which("zstd") is None, reason="zstd is not installed")
def test_the_zstd_program_prints_the_lines_and_finds_no_fault(whole: bytes) -> None:
    assert subprocess.run(["zstd", "-dc"], input=whole, capture_output=True, check=True).stdout == b"".join(LINES)


@pytest.mark.parametrize("size", [0, 1, (1 << 17) - 1, 1 << 17, (1 << 17) + 1, 400_000])
def test_raw_payloads_of_any_size_are_ordinary_zstd(size: int) -> None:
    content = os.urandom(size)

    data = encode_frame(content, salt=SALT, offset=0, kind=1, compress=False)

    assert _contents(data) == [content]
    with zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True) as reader:
        assert reader.read() == content


def test_every_single_bit_flip_costs_exactly_the_frame_that_it_hits(whole: bytes) -> None:
    bounds = [(item.offset, item.offset + item.length) for item in read_frames(whole)]

    for bit in range(len(whole) * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        hit = next(number for number, (start, end) in enumerate(bounds) if start <= bit // 8 < end)
        found = list(read_frames(bytes(damaged)))
        assert [item.content for item in found if isinstance(item, Frame)] == LINES[:hit] + LINES[hit + 1 :]
        (loss,) = [item for item in found if not isinstance(item, Frame)]
        assert (loss.offset, loss.offset + loss.length) == bounds[hit]
        if isinstance(loss, Torn):
            assert hit == len(LINES) - 1


def test_a_frame_whose_payload_is_damaged_still_says_its_ids(whole: bytes) -> None:
    second = list(read_frames(whole))[2]
    damaged = bytearray(whole)
    damaged[second.offset + second.length - 1] ^= 1

    (loss,) = _losses(bytes(damaged))

    assert isinstance(loss, Damage)
    assert (loss.id, loss.parent, loss.ordinal, loss.kind) == ("id-2", "id-1", 2, 2)
    assert loss.salt == SALT


def test_every_torn_tail_is_named_and_costs_only_the_last_frame(whole: bytes) -> None:
    last = list(read_frames(whole))[-1].offset

    for length in range(last, len(whole)):
        found = list(read_frames(whole[:length]))
        assert [item.content for item in found if isinstance(item, Frame)] == LINES[:-1]
        assert found[len(LINES) - 1 :] == ([Torn(last, length - last)] if length > last else [])


def test_zeros_at_the_end_are_a_torn_tail(whole: bytes) -> None:
    assert _losses(whole + bytes(5000)) == [Torn(len(whole), 5000)]


def test_a_last_frame_that_has_its_length_and_not_its_bytes_is_a_torn_tail() -> None:
    start = _file()
    last = encode_frame(
        os.urandom(4000).hex().encode(), salt=SALT, offset=len(start), kind=2, ordinal=9, compress=False
    )
    whole = start + last
    for sector in range(len(start) // 512 + 1, len(whole) // 512):
        data = whole[: 512 * sector] + bytes(512) + whole[512 * (sector + 1) :]

        assert _losses(data) == [Torn(len(start), len(last))]
        assert _contents(data) == LINES


def test_a_hole_of_zeros_costs_only_the_frames_it_touches(whole: bytes) -> None:
    found = list(read_frames(whole))
    start, end = found[1].offset + 50, found[3].offset + 1

    damaged = whole[:start] + bytes(end - start) + whole[end:]

    assert _contents(damaged) == [LINES[0], LINES[4]]


def test_bytes_that_are_missing_or_added_cost_only_what_has_moved(whole: bytes) -> None:
    """A frame that is not at its own offset is not a frame: the file is not what was written."""
    second = list(read_frames(whole))[2].offset

    assert _contents(whole[:second] + whole[second + 1 :]) == LINES[:2]
    assert _contents(whole[:second] + b"x" + whole[second:]) == LINES[:2]


def test_a_torn_frame_with_frames_after_it_costs_only_itself() -> None:
    """What is left when even cutting back failed: the next frames follow at once."""
    whole = _file()
    bounds = [item.offset for item in read_frames(whole)]
    for length in range(1, bounds[3] - bounds[2]):
        data = whole[: bounds[2] + length]
        data += encode_frame(b"later\n", salt=SALT, offset=len(data), kind=2)

        assert _contents(data) == [*LINES[:2], b"later\n"]
        assert [(loss.offset, loss.length) for loss in _losses(data)] == [(bounds[2], length)]


def test_frames_of_another_file_are_not_taken_for_ours() -> None:
    ours = _file()
    last = list(read_frames(ours))[-1].offset

    mixed = ours[:last] + _file(salt=b"othersal")[last:]

    assert _contents(mixed) == LINES[:-1]


def test_a_whole_file_stored_inside_a_payload_is_never_read_as_frames() -> None:
    inner = _file(compress=False)
    data = encode_frame(inner, salt=SALT, offset=0, kind=2, compress=False)
    damaged = bytearray(data)
    damaged[-1] ^= 1

    assert _contents(data) == [inner]
    assert _contents(bytes(damaged)) == []
    assert [(loss.offset, loss.length) for loss in _losses(bytes(damaged))] == [(0, len(data))]


@given(st.binary(max_size=400))
def test_no_bytes_at_all_make_the_reader_raise(noise: bytes) -> None:
    whole = _file()

    for data in (noise, noise + whole, whole + noise):
        found = list(read_frames(data))
        assert sum(item.length for item in found) == len(data)
    assert _contents(whole + noise) == LINES


@given(st.data())
def test_any_damage_leaves_all_frames_that_it_does_not_touch(data: st.DataObject) -> None:
    whole = _file()
    start = data.draw(st.integers(0, len(whole) - 1))
    noise = data.draw(st.binary(min_size=1, max_size=200))
    end = min(start + len(noise), len(whole))

    damaged = whole[:start] + noise[: end - start] + whole[end:]

    untouched = [
        item.content
        for item in read_frames(whole)
        if isinstance(item, Frame)
        and whole[item.offset : item.offset + item.length] == damaged[item.offset : item.offset + item.length]
    ]
    assert _contents(damaged) == untouched


def test_a_payload_that_claims_to_be_huge_is_refused_before_it_is_unpacked() -> None:
    bomb = zstandard.ZstdCompressor(level=1).compress(bytes(MAX_CONTENT + 1))
    (loss,) = _losses(_frame_around(bomb, codec=1))

    assert isinstance(loss, Damage)
    assert loss.reason == "too large"


@pytest.mark.parametrize("payload", [b"", b"x" * 30, struct.pack("<IBI", 0xFD2FB528, 0xA0, 5) + b"\x07\0\0"])
@pytest.mark.parametrize("codec", [0, 1, 2])
def test_a_payload_of_no_known_form_is_damage(payload: bytes, codec: int) -> None:
    (loss,) = _losses(_frame_around(payload, codec=codec))

    assert isinstance(loss, Damage)


def _frame_around(payload: bytes, codec: int) -> bytes:
    """A frame with right checksums around whatever payload."""
    data = bytearray(encode_frame(b"", salt=SALT, offset=0, kind=2, compress=False))
    length = frames._FIXED.size + 3 + 8
    data[13] = codec
    struct.pack_into("<I", data, frames._FIXED.size - 4, len(payload))
    crc = zlib.crc32(payload, zlib.crc32(SALT + struct.pack("<Q", 0)))
    struct.pack_into("<I", data, length - 8, crc)
    struct.pack_into("<I", data, length - 4, zlib.crc32(data[: length - 4]))
    return bytes(data[:length]) + payload


def test_content_that_is_too_large_is_a_mistake_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_CONTENT", 10)

    with pytest.raises(ValueError, match="BUG"):
        encode_frame(b"x" * 11, salt=SALT, offset=0, kind=1)


def test_without_zstandard_frames_are_written_raw_and_compressed_ones_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compressed = _file()
    monkeypatch.setitem(sys.modules, "zstandard", None)
    results: list[object] = []

    def in_a_thread_that_never_had_it() -> None:
        written = _file()
        results.extend([written, _contents(written), _losses(compressed)])

    thread = threading.Thread(target=in_a_thread_that_never_had_it)
    thread.start()
    thread.join()
    written, contents, losses = results

    assert written == _file(compress=False)
    assert contents == LINES
    assert isinstance(losses, list)
    assert [(loss.reason, loss.id) for loss in losses] == [(NEEDS_ZSTANDARD, f"id-{number}") for number in range(5)]


def test_threads_compress_at_the_same_time_without_mixing_anything(tmp_path: Path) -> None:
    texts = [bytes([65 + number]) * 100_000 + b"\n" for number in range(4)]
    wrong: list[bytes] = []

    def work(text: bytes) -> None:
        for _ in range(100):
            data = encode_frame(text, salt=SALT, offset=0, kind=1)
            if _contents(data) != [text]:
                wrong.append(text)

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert not wrong
