from workbench.people.generation.model import PassageReply, ProposedFactoid, ProposedUnanswerable, parse_reply


def test_an_object_is_read_also_from_a_block_of_code() -> None:
    texts = [
        '{"question": "Who?"}',
        '<think>{"question": "Why?"}</think>{"question": "Who?"}',
        ' {"question": "Who?"}\n',
        '```json\n{"question": "Who?"}\n```',
        '```JSON\n{"question": "Who?"}\n```\n',
    ]
    assert [parse_reply(text, ProposedUnanswerable) for text in texts] == [ProposedUnanswerable(question="Who?")] * len(texts)


def test_anything_else_is_no_reply() -> None:
    texts = [
        "",
        'Here it is: {"question": "Who?"}',
        '{"question": "Who?"} {"question": "Why?"}',
        '{"question": "Who?", "more": 1}',
        '{"question": 7}',
        '{"question": null}',
        '{"question": "Who?", "question": "Why?"}',
        "[" * 100_000,
        '["question"]',
    ]
    assert [text for text in texts if parse_reply(text, ProposedUnanswerable) is not None] == []


def test_a_yes_in_words_is_no_boolean() -> None:
    assert parse_reply('{"answerable": "yes", "answer": "", "quote": ""}', PassageReply) is None
    assert parse_reply('{"answerable": 1, "answer": "", "quote": ""}', PassageReply) is None


def test_the_schema_requires_every_field_and_no_other() -> None:
    schema = ProposedFactoid.model_json_schema()
    assert schema["required"] == ["question", "answer", "quote"]
    assert schema["additionalProperties"] is False
