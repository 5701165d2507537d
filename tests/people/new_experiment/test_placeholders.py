"""Passages to ask about cover the documents, are exact slices, and have headings as placeholders until a person writes the questions."""

from tests.mixed_documents import BIKES, ENERGY, GERMAN, SHED, long_text, markdown
from workbench.core.records import Document
from workbench.people.new_experiment.placeholders import choose_passages, passages_of, placeholder_rows

DOCUMENTS = [
    Document("bikes", markdown(BIKES, "Bikes")),
    Document("shed", markdown(SHED, "Shed")),
    Document("energy", markdown(ENERGY, "Energy")),
    Document("hr", markdown(GERMAN, "Personal")),
]
TABLE = "| Means of travel | Paid | Who decides |\n|---|---|---|\n| train, second class | all | nobody |"


def test_passages_are_of_each_document_in_turn_then_of_each_section_and_exact() -> None:
    texts = {document.doc_id: document.text for document in DOCUMENTS}
    passages = list(choose_passages(DOCUMENTS, 60))
    assert [texts[each.span.doc_id][each.span.start : each.span.end] for each in passages] == [each.text for each in passages]
    assert {each.span.doc_id for each in passages[:4]} == set(texts)
    assert {each.header for each in passages if each.span.doc_id == "shed"} == {
        "Shed > Opening hours",
        "Shed > Repairs",
        "Shed > Insurance",
    }
    assert passages == list(choose_passages(DOCUMENTS, 60))
    assert [each.span for each in choose_passages(DOCUMENTS, 3)] == [each.span for each in passages[:3]]
    assert len({next(choose_passages(DOCUMENTS, 1, seed)).span.doc_id for seed in range(9)}) > 1


def test_a_table_is_a_passage_of_its_own_and_its_turn_comes_after_one_of_text() -> None:
    prose = "Members pay for their travel, and the club pays them back within ten days. "
    document = Document("d", f"# Travel\n\n## A\n\n{prose}\n\n## B\n\n{prose * 3}\n\n## C\n\n{prose}\n\n{TABLE}\n")
    passages = list(choose_passages([document], 2))
    assert sorted(each.lines for each in passages) == [False, True]
    assert [each.text for each in passages if each.lines] == [TABLE]


def test_a_passage_with_rarer_words_comes_before_one_with_words_that_are_covered() -> None:
    text = "# D\n\n## A\n\n{0}\n\n## B\n\n{0}\n\n## C\n\nThe volunteers repair wooden oboes, clarinets and harpsichords on Mondays.\n"
    document = Document("d", text.format("The office is open from nine to five on every day."))
    assert [each.header for each in choose_passages([document], 2)] == ["D > C", "D > A"]


def test_long_blocks_are_cut_between_sentences_and_headings_front_matter_and_short_remains_are_no_passages() -> None:
    sentence = "Members can borrow a cargo bike for up to three days in each season. "
    text = f"---\ntitle: This is the title of a page about many bikes of all kinds\n---\n\n# Bikes\n\n{sentence * 20}\n\n## End\n\nSee below.\n"
    passages = list(passages_of(Document("d", text)))
    assert {each.header for each in passages} == {"Bikes"}
    assert "".join(each.text for each in passages).replace(" ", "") == (sentence * 20).replace(" ", "")
    assert all(len(each.text) <= 500 and each.text.startswith("Members") and each.text.endswith(".") for each in passages)


def test_a_placeholder_is_a_marked_draft_with_the_passage_as_evidence_and_equal_texts_as_alternatives() -> None:
    copies = [*DOCUMENTS, Document("copy", markdown(BIKES, "Copy"))]
    rows = placeholder_rows(copies, 60)
    assert rows == placeholder_rows(copies, 60)
    assert len({row["query"] for row in rows}) == len({row["query_id"] for row in rows}) == len(rows)
    (row,) = [row for row in rows if row["query"] == "Bikes: Lending a bike"]
    assert {span["doc_id"] for span in row["evidence"][0]} == set(row["relevant_doc_ids"]) == {"bikes", "copy"}
    assert (row["synthetic"], row["accepted_by"], row["provenance"]) == (True, "", {"part": "placeholder"})


def test_passages_below_one_heading_are_distinguished_by_their_rarest_words_and_a_document_without_headings_by_its_id() -> None:
    plain = Document(
        "house",
        "The bicycle is in the yard behind the house and locked.\n\n- " + "The kitchen is cleaned on Fridays by a firm from the town.",
    )
    rows = placeholder_rows([plain], 9)
    assert [row["query"].split(":")[0] for row in rows] == ["house", "house"]
    assert len(rows[1]["query"].removeprefix("house: ").split()) == 3
    assert placeholder_rows([plain], 1, known=[rows[0]["query"]])[0]["query"] != rows[0]["query"]


def test_a_text_in_many_places_is_not_asked_about_and_long_documents_are_read_in_parts() -> None:
    same = "All rights in this text are reserved by the club and by its members."
    assert placeholder_rows([Document(str(number), f"# T{number}\n\n{same}\n") for number in range(21)], 60) == []
    rows = placeholder_rows([Document("log", long_text(1))], 5)
    assert len(rows) == 5
