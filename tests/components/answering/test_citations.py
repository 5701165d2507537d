"""Citations in the text of an answer."""

from hypothesis import given
from hypothesis import strategies as st

from workbench.components.answering.prompted import citations_in


def test_numbers_in_brackets_are_passages_from_0() -> None:
    cases = [
        ("A berth [1]. A pilot [3].", (0, 2)),
        ("[1, 2] and [1,3;2]", (0, 1, 2)),
        ("[1][3]", (0, 2)),
        ("[1-3]", (0, 1, 2)),
        ("[2–3]", (1, 2)),
        ("[Passage 2 and 3]", (1, 2)),
        ("[2 und 3]", (1, 2)),
        ("[3], then [1], then [3]", (2, 0)),
        ("[3-1]", (2,)),
        ("[4] and [0] and [4]", ()),
        ("the war [1914-1918]", ()),
        ("[2-9]", (1, 2)),
        ("A berth 【1】. A pilot【3†source】. 【2†L3-L9】", (0, 2, 1)),
        ("［1］ and ［2，3］", (0, 1, 2)),
        ("[^1] and [^3]", (0, 2)),
        ("[citation:1] [Citation: 3]", (0, 2)),
        ("[1, 2, and 3]", (0, 1, 2)),
        ("[1, and 3]", (0, 2)),
        ("[Source 2], [doc 1; doc 3], [#2], [Quelle 1]", (1, 0, 2)),
        ("[passage 1, passage 3]", (0, 2)),
        ("[Sources 1-2 & 3]", (0, 1, 2)),
        ("[passage 1-passage 3]", (0, 2)),
        ("【9†source】", ()),
        ("[see 1], [§ 2], [May 3], [1†], [page 2], [^note], 【x】", (0,)),
        ("[x], [1a], (1), [], [ ], [1.5] and [123456]", ()),
        ("", ()),
    ]
    assert [(text, citations_in(text, 3)) for text, _ in cases] == cases


def test_without_passages_nothing_is_cited() -> None:
    assert citations_in("[1]", 0) == ()


@given(st.text(alphabet="[]【】［］0123456789,-– ;a^#†:"), st.integers(0, 5))
def test_any_text_gives_distinct_numbers_of_passages(text: str, passages: int) -> None:
    found = citations_in(text, passages)
    assert len(set(found)) == len(found)
    assert all(number in range(passages) for number in found)
