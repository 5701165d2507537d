"""The JSON of replies."""

from workbench.systems.base import TargetError
from workbench.systems.replies import parse_json


def test_json_is_parsed_with_or_without_a_byte_order_mark():
    assert parse_json(b'\xef\xbb\xbf{"a": "\xc3\xa9"}') == parse_json('{"a": "\\u00e9"}') == {"a": "é"}


def test_what_is_no_json_is_one_line(wording):
    wording(
        parse_json,
        [
            b"",
            b" \n",
            b"\xff\xfe{}",
            b"\n<!doctype html><html><title>Sign in</title>",
            b"<html></html>",
            b"Internal error",
            b'{"a": 1',
            b"[" * 200_000,
            rb'{"a": "\ud800"}',
        ],
        TargetError,
    )


def test_a_whole_surrogate_pair_is_text():
    assert parse_json(rb'"\ud83d\ude00 \\ud800"') == "😀 \\ud800"
