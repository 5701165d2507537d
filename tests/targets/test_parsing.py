"""The JSON of replies."""

import pytest

from workbench.targets.base import TargetError
from workbench.targets.parsing import parse_json


def test_json_is_parsed_with_or_without_a_byte_order_mark():
    assert parse_json(b'\xef\xbb\xbf{"a": "\xc3\xa9"}') == parse_json('{"a": "\\u00e9"}') == {"a": "é"}


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "the reply is empty"),
        (b" \n", "the reply is empty"),
        (b"\xff\xfe{}", "the reply is not valid UTF-8"),
        (b"\n<!doctype html><html><title>Sign in</title>", "the reply is HTML ('Sign in'), not JSON"),
        (b"<html></html>", "the reply is HTML, not JSON"),
        (b"Internal error", "the reply is no valid JSON; it begins with 'Internal error'"),
        (b'{"a": 1', "the reply is no valid JSON; it begins with '{\"a\": 1'"),
        (b"[" * 200_000, "the reply is nested too deeply"),
        (rb'{"a": "\ud800"}', "the reply contains half of a surrogate pair, which is no text"),
    ],
)
def test_what_is_no_json_is_one_line(content, line):
    with pytest.raises(TargetError) as caught:
        parse_json(content)
    assert str(caught.value) == line


def test_a_whole_surrogate_pair_is_text():
    assert parse_json(rb'"\ud83d\ude00 \\ud800"') == "😀 \\ud800"
