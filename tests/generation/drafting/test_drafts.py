"""Drafts are spread over the documents, are all different, and have exact evidence."""

from tests.mixed_documents import BIKES, ENERGY, GERMAN, SHED, long_text, markdown
from workbench.generation.drafting.drafts import draft_questions
from workbench.generation.drafting.phrasing import language_of
from workbench.generation.drafting.statements import statements
from workbench.records import Document

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


def test_statements_are_sentences_and_items_but_not_code_tables_or_fragments():
    text = "# A\n\n- Members must **return** every [bike](x.md) before noon.\n\n```\nThe code is a block with a full sentence.\n```\n\n| The table is | not prose at all here. |\n|---|---|\n\nno sentence\n"
    (found,) = statements(Document("a", text))
    assert (found.plain, found.headings, found.first) == ("Members must return every bike before noon.", ("A",), True)
    assert text[found.start : found.end] == "Members must **return** every [bike](x.md) before noon."


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
