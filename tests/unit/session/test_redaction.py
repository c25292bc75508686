from __future__ import annotations

import json

import pytest

from nbrewind.session.redaction import is_key, literal_values, redacted, secret_values


@pytest.mark.parametrize(
    ("content", "values"),
    [
        (b"API_KEY=abc123SECRET", {"abc123SECRET"}),
        (b"export TOKEN='hunter42x'\n# a remark that is long\nDEBUG=1\n", {"hunter42x"}),
        (b'{"type": "account", "key": "q9w8e7r6"}', {"account", "q9w8e7r6"}),
        (b"machine example.org login me password s3cretpass", {"s3cretpass"}),
        (b"-----BEGIN KEY-----\nMIIEvQIBADANBg\n-----END KEY-----", {"MIIEvQIBADANBg"}),
        (b'{"private_key": "-----BEGIN KEY-----\\nMIIEvQIBADANBg\\n-----END KEY-----\\n"}', {"MIIEvQIBADANBg"}),
        (b"\xff\xfe\x00binary", set()),
    ],
)
def test_values_of_a_secret_file(content, values):
    assert values <= set(secret_values([content]))


@pytest.mark.parametrize(
    "word", ["production", "/home/me/data2", "http://localhost:8080", "12345678", "short1", "two w0rds"]
)
def test_ordinary_words_are_no_keys(word):
    assert not is_key(word)


@pytest.mark.parametrize("word", ["abc123SECRET", "sk-AbCdEfGhIjKlMnOpQrSt", "postgres://me:pw@host/db", "hunter2!"])
def test_keys_are_told_from_words(word):
    assert is_key(word)


def test_literals_that_read_like_lines_of_a_secret_file():
    code = "open('.env', 'w').write('''A=first-value\nB=2''')\nopen('.env', 'w').write(\"tok3n-of-mine\\n\")"

    assert set(literal_values(code)) == {"first-value", "tok3n-of-mine"}


@pytest.mark.parametrize("value", ['quo"ted-123', "back\\slash-123", "ümläut-123", "it's-123"])
def test_a_value_goes_in_every_way_it_is_written(value):
    for text in (
        value,
        json.dumps(value),
        json.dumps(value, ensure_ascii=False),
        repr(value),
        json.dumps([repr(value)]),
    ):
        shown = redacted(text, [value])
        assert "-123" not in shown, (text, shown)
