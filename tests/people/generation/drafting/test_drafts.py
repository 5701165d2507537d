"""Drafts are spread over the documents, are all different, and have exact evidence."""

from tests.mixed_documents import BIKES, ENERGY, GERMAN, SHED, long_text, markdown
from workbench.core.records import Document
from workbench.people.generation.drafting.drafts import draft_questions
from workbench.people.generation.drafting.phrasing import language_of
from workbench.people.generation.drafting.statements import statements

DOCUMENTS = [
    Document("bikes", markdown(BIKES, "Bikes")),
    Document("shed", markdown(SHED, "Shed")),
    Document("energy", markdown(ENERGY, "Energy")),
    Document("hr", markdown(GERMAN, "Personal")),
]


def test_every_document_is_asked_about_and_evidence_is_in_the_text():
    drafts = draft_questions(DOCUMENTS, 60)
    texts = {document.doc_id: document.text for document in DOCUMENTS}
    assert {draft.spans[0].doc_id for draft in drafts} == set(texts)
    assert len({draft.question.casefold() for draft in drafts}) == len(drafts) >= 12
    evidence = {draft.question: texts[draft.spans[0].doc_id][draft.spans[0].start : draft.spans[0].end] for draft in drafts}
    assert evidence["How much is the deposit?"] == "The deposit is 80 euros and is paid by card at the counter."
    assert evidence["Wie hoch ist die Tagespauschale?"] == "Die Tagespauschale beträgt 28 Euro für jeden vollen Tag."
    assert all(0 <= draft.overlap <= 1 for draft in drafts)
    assert draft_questions(DOCUMENTS, 60) == drafts


def test_few_questions_are_of_different_documents_and_known_ones_are_not_repeated():
    drafts = draft_questions(DOCUMENTS, 4)
    assert len({draft.spans[0].doc_id for draft in drafts}) == 4
    others = draft_questions(DOCUMENTS, 4, [draft.question for draft in drafts])
    assert not {draft.question for draft in drafts} & {draft.question for draft in others}


def test_equal_statements_are_alternatives_and_different_ones_make_a_question_ambiguous():
    copies = [Document("a", "# A\n\nThe late fee is 5 euros for a day.\n"), Document("b", "# B\n\nThe late fee is 5 euros for a day.\n")]
    (draft, *_) = draft_questions(copies, 9)
    assert {span.doc_id for span in draft.spans} == {"a", "b"}
    other = [copies[0], Document("b", "# B\n\nThe late fee is 7 euros for a day.\n")]
    assert "How much is the late fee?" not in {each.question for each in draft_questions(other, 9)}


def test_an_instruction_has_its_whole_section_as_evidence():
    text = "# Bikes\n\n## Return a cargo bike\n\nRing the bell at the shed door. Hand over the key to a volunteer. Wait for the receipt of your deposit.\n\n## Other\n\nNo more.\n"
    (draft, *_) = draft_questions([Document("a", text)], 1)
    span = draft.spans[0]
    assert draft.question == "How do I return a cargo bike?"
    assert (
        text[span.start : span.end]
        == "Ring the bell at the shed door. Hand over the key to a volunteer. Wait for the receipt of your deposit."
    )


def test_the_evidence_of_an_instruction_has_the_code_above_its_first_sentence():
    section = "To start a package, use this command:\n\n```\ncargo new hello\n```\n\nThe command makes a folder with two files."
    (draft,) = draft_questions([Document("a", f"# Start a package\n\n{section}\n")], 1)
    assert draft.question == "How do I start a package?"
    assert f"# Start a package\n\n{section}\n"[draft.spans[0].start : draft.spans[0].end] == section


def test_statements_are_sentences_and_items_but_not_code_tables_or_fragments():
    text = "# A\n\n- Members must **return** every [bike](x.md) before noon.\n\n```\nThe code is a block with a full sentence.\n```\n\n| The table is | not prose at all here. |\n|---|---|\n\nno sentence\n"
    (found,) = statements(Document("a", text))
    assert (found.plain, found.headings, found.first) == ("Members must return every bike before noon.", ("A",), True)
    assert text[found.start : found.end] == "Members must **return** every [bike](x.md) before noon."


def test_front_matter_comments_and_definitions_of_links_are_no_statements():
    settings = "---\ntitle: Leave\nsummary: The rules of leave are explained on this page.\n---\n"
    rest = "# Leave {#leave}\n\nYou have <!-- checked in May --> thirty days of leave.\n\n<!-- A remark that nobody reads is here. -->\n\n"
    links = "[our rules]: https://example.com (The rules of leave are on a page.)\n\n[^1]: See the rules of leave for more of these.\n"
    (found,) = statements(Document("d", settings + rest + links))
    assert (found.plain, found.headings) == ("You have thirty days of leave.", ("Leave",))
    toml = "+++\nsummary = 'The rules of leave are explained on this page.'\n+++\n"
    assert [statement.plain for statement in statements(Document("d", toml + rest))] == ["You have thirty days of leave."]


def test_of_a_long_document_parts_are_read_from_its_beginning_to_its_end():
    text = long_text(1)
    found = list(statements(Document("log", text)))
    assert found[0].start < 100
    assert found[-1].end > 0.9 * len(text)
    assert sum(each.end - each.start for each in found) < 310_000
    assert all(text[each.start : each.end].endswith("euros.") for each in found)


def test_languages_are_recognised_by_their_frequent_words():
    assert language_of("The shed is open from nine to six on workdays.") == "en"
    assert language_of("Die Werkstatt ist an Werktagen von neun bis sechs offen.") == "de"
    assert language_of("Vélos, pompes, chaînes, freins; prix courants 2024") == ""


def test_headings_are_the_questions_in_other_languages():
    text = "# Vélos\n\n## Horaires du hangar\n\nChaque samedi matin, bénévoles réparent freins usés, chaînes rouillées.\n"
    (draft,) = draft_questions([Document("fr", text)], 5)
    assert draft.question.startswith("Horaires du hangar: ")
    assert (draft.rule, draft.language) == ("topic", "")


def test_topics_fill_up_to_more_questions_than_a_claim_needs():
    towns = [f"Ville{chr(97 + number // 26)}{chr(97 + number % 26)}" for number in range(60)]
    text = "Chaque samedi matin, bénévoles de {0} réparent freins usés, chaînes rouillées de {0}.\n"
    documents = [Document(town, f"# {town}\n\n## Horaires du hangar {town}\n\n{text.format(town)}") for town in towns]
    assert len(draft_questions(documents, 60)) == 40


def questions_of(text: str) -> list[str]:
    return [draft.question for draft in draft_questions([Document("a", text)], 9)]


def test_the_layout_of_manual_pages_gives_no_words_of_questions():
    text = (
        "DESCRIPTION\n     Secure transfer is a file transfer program, similar to ftp(1), which performs all\n     operations over an encrypted transport.\n\n"
        "     TZ                    This variable is set to indicate the present time\n                           zone if it was set before.\n\n"
        "     The default read time\u2010\n     out is 900 seconds.\n"
    )
    assert sorted(questions_of(text)) == ["What is secure transfer?", "What is the default read timeout?"]
    (definition,) = [draft for draft in draft_questions([Document("a", text)], 9) if draft.question == "What is secure transfer?"]
    assert text[definition.spans[0].start :].startswith("Secure transfer is a file")


def test_markup_pointing_words_and_code_give_no_questions():
    text = (
        "**Lossless RGB files**<br>\n   The format requires the SmartScale feature of the library.\n\n"
        "Applications can trap this error to test the support by calling a function.\n\n"
        "The arguments to this flag are the same as those of the other.\n\n"
        "APPLICABILITY This License applies to any manual that contains a notice of the holder.\n\n"
        "Valgrind is built via the standard Unix .\n\n"
        "A user must configure it using the option described below.\n"
    )
    assert questions_of(text) == []


def test_a_heading_that_asks_is_a_draft_unless_its_section_puts_the_question_off():
    text = (
        "# FAQ\n\n## How do I build an engine?\n\nThis question is trickier than the others. Engines are of many kinds.\n\n"
        "## Can libraries use `*` as a version?\n\nThe registry rejects all packages with such a constraint.\n"
    )
    assert questions_of(text) == ["Can libraries use * as a version?"]
