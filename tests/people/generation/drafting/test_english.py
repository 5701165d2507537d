"""English statements become questions that a person would ask."""

from workbench.people.generation.drafting.english import english_questions, english_topic
from workbench.people.generation.drafting.statements import Statement


def asked(text: str, heading: str = "", first: bool = False, common: bool = True) -> list[str]:
    statement = Statement("d", 0, len(text), text, (heading,) if heading else (), first, common)
    return [phrasing.question for phrasing in english_questions(statement)]


def test_the_question_leaves_out_what_the_statement_answers():
    questions = {
        "The deposit is 80 euros and is paid by card.": "How much is the deposit?",
        "A late return costs 15 euros for each started hour.": "How much does a late return cost?",
        "An individual licence takes about 8 weeks in Poland.": "How long does an individual licence take?",
        "You have 30 days of leave a year.": "How many days of leave do I have?",
        "A reviewer has 10 business days.": "How many business days does a reviewer have?",
        "Volunteers must report broken brakes within two days.": "How soon must volunteers report broken brakes?",
        "Technicians should inspect the compressor every 24 months.": "How often should technicians inspect the compressor?",
        "Members can borrow a cargo bike for up to three days.": "How long can members borrow a cargo bike?",
        "You must lock your screen when you leave.": "When must I lock my screen?",
        "The guest has to sign a form before the visit.": "When does the guest have to sign a form?",
        "The filter is cleaned twice a year.": "How often is the filter cleaned?",
        "The shed is open from 9:00 to 18:30 on workdays.": "When is the shed open?",
        "A heat pump is a machine that moves heat into the house.": "What is a heat pump?",
        "You must answer a page within 15 minutes.": "How soon must I answer a page?",
        "The tests can also be run in parallel via the option -j.": "How can the tests be run in parallel?",
        "A zero exit status will only be returned if no key was revoked.": "When will a zero exit status be returned?",
        "Reports are filed at the end of each quarter.": "When are reports filed?",
        "A test case here is a shell script with a framework around it.": "What is a test case?",
        "A repair kit contains two inner tubes, a pump and a chain tool.": "What does a repair kit contain?",
    }
    assert {statement: asked(statement)[0] for statement in questions} == questions


def test_statements_that_do_not_stand_alone_give_no_question():
    statements = [
        "It must be returned within two days.",
        "This is a rule that nobody remembers any more.",
        "If you leave, you must lock the screen before noon.",
        "Answers and reports are Guarded and are filed with the supplier form.",
        "The former was released on 11 July 2025.",
        "Usually both wishes can be met by Thursday.",
        "The quality-filtered reads have been deposited in an archive.",
        "Serum samples were obtained from 31 patients with markers.",
        "A file of text takes about five times its size in memory.",
        "Nothing here states a fact at all, which is common.",
        "Upon connection the client will look up the fingerprint using DNS.",
        "Using tunnel forwarding is a simple way to establish private networks.",
        "Compiling in debug mode is the default for development.",
        "The codename is a little bit more informative than the version.",
        "The version is a number that has three parts.",
        "Any member of the public is a licensee of the work.",
        "The syntax is used to document the item present after it.",
        "A union may be emulated by default in all of the compilers.",
        "Targets will be pushed to the branch with the same name.",
        "We will change the default probably 1 year after the release.",
        "Dependencies may be put on the end of the line with a bar.",
        "A convention around the patches to have two classes has been proposed.",
    ]
    assert {statement: asked(statement) for statement in statements} == {statement: [] for statement in statements}


def test_headings_that_ask_and_instruct_become_questions_of_their_section():
    text = "Some sentence without any pattern at all in it."
    assert asked(text, "How do I return a bike?", first=True) == ["How do I return a bike?"]
    assert asked(text, "Reset your password", first=True) == ["How do I reset my password?"]
    assert asked(text, "Change of pattern", first=True) == asked(text, "O Brother, where art thou?", first=True) == []
    assert asked(text, "Reset your password", first=False) == []
    assert asked(text, "Creating a new package", first=True) == ["How do I create a new package?"]
    assert asked(text, "Running the tests", first=True) == ["How do I run the tests?"]
    assert asked(text, "Opening hours", first=True) == asked(text, "Restart Markers", first=True) == []
    assert asked(text, "What about libjpeg v9?", first=True) == []
    assert english_topic(Statement("d", 0, 9, text, ("Leave",)), "sick notes") == "What is said about sick notes under “Leave”?"


def test_names_keep_their_capitals():
    assert asked("Mount Logan is the highest mountain in Canada.", common=False) == ["What is Mount Logan?"]
