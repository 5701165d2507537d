"""What the gardeners test besides the rules of their experiments. Run by tests/pytest_plugin/test_sample_project.py."""

from workbench.testing import assert_absent, assert_faithful, assert_recall, assert_refuses


def test_questions_find_their_page(rag_results):
    assert_recall(rag_results, 0.9, k=3)


def test_dogs_are_no_topic(rag_results):
    assert_refuses(rag_results)


def test_answers_say_what_the_pages_say(rag_results):
    assert_faithful(rag_results, 0.5, metric="support_overlap")


def test_the_garlic_page_is_not_about_beans(rag_target):
    assert_absent(rag_target, "How far apart are beans planted?", "garlic", k=1)
