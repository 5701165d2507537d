import base64
import json
import zlib

from workbench.report.page.policy import packed, policy


def test_a_policy_names_the_hash_of_what_it_allows():
    found = policy("let x;", "p{}")
    assert found.count("sha256-") == 2
    assert "unsafe" not in found
    assert policy("let y;", "p{}") != found


def test_what_is_packed_comes_out_again_and_cannot_end_an_element():
    value = {"text": "</script><!-- é 😀 \x00", "numbers": [1, None, 0.5]}
    text = packed(value)
    assert "<" not in text
    assert json.loads(zlib.decompress(base64.b64decode(text))) == value


def test_half_a_surrogate_pair_is_replaced_by_one_unit():
    assert json.loads(zlib.decompress(base64.b64decode(packed("a\ud800b")))) == "a?b"
