from tests.docs.conftest import DOCS


def test_the_page_refuses_a_scorer_that_counts_words(executed):
    names, output = executed(DOCS / "how-to" / "test_a_judge.md")
    found = names["found"]
    assert found.unscored == 0
    assert len(found.rows) == 96
    assert "not a judge: " in output
