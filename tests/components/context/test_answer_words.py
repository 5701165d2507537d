from workbench.components.context.contexts import content_words, holds_answer


def test_words_are_compared_without_case_articles_and_separators_of_thousands() -> None:
    assert content_words("The CFO signs above €1,090.50, at 15:30") == ("cfo", "signs", "above", "1090.50", "at", "15", "30")


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


def test_an_answer_is_found_in_scripts_without_blanks_and_across_their_lines() -> None:
    text = "健身房早上七点开始\n营业，月租是 80元。"
    answers = {"七点开始营业": True, "80 元": True, "健身房": True, "八点开始": False, "营业健身": False, "房": False}
    assert {answer: holds_answer(text, [answer]) for answer in answers} == answers
    assert holds_answer("เปิดหกโมงเช้าทุกวัน", ["หกโมงเช้า"])
    assert holds_answer("2 cafe\u0301s, 5kg", ["5 kg"])
