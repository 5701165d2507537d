from workbench.context.answer_words import content_words, holds_answer


def test_words_are_compared_without_case_articles_and_separators_of_thousands() -> None:
    assert content_words("The CFO signs above €1,090.50, at 15:30") == ("cfo", "signs", "above", "1090.50", "at", "15:30")


def test_an_answer_is_found_if_all_of_its_words_follow_each_other_and_name_something() -> None:
    text = "Yes, no: she signs a form for 1,090 within thirty days, 5 times."
    answers = {
        "Thirty days": True,
        "30 days": False,
        "signs the form": True,
        "the form signs": False,
        "thirty day": False,
        "hin thirty days": False,
        "Yes": False,
        "no": False,
        "5": False,
        "1090": True,
        "form": True,
        "": False,
    }
    assert {answer: holds_answer(text, [answer]) for answer in answers} == answers


def test_any_expected_answer_is_enough() -> None:
    assert holds_answer("within two weeks", ["14 days", "two weeks"])
    assert not holds_answer("within two weeks", [])
