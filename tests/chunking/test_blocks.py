from workbench.chunking.text.blocks import Block, blocks, parts_of

TEXT = """Some intro text
over two lines.

# Heading

- one

  still one
- two
    1. nested

| a | b |
|---|---|
| 1 | 2 |

[link]: http://example.org

```py
x = 1

y = 2
```

> quoted
"""


def test_blocks_are_what_a_reader_sees_as_one() -> None:
    assert [(block.kind, TEXT[block.start : block.end]) for block in blocks(TEXT)] == [
        ("text", "Some intro text\nover two lines."),
        ("heading", "# Heading"),
        ("lines", "- one\n\n  still one"),
        ("lines", "- two\n    1. nested"),
        ("lines", "| a | b |\n|---|---|\n| 1 | 2 |"),
        ("text", "[link]: http://example.org"),
        ("lines", "```py\nx = 1\n\ny = 2\n```"),
        ("lines", "> quoted"),
    ]


def test_blocks_hold_in_every_newline() -> None:
    for newline in ("\r\n", "\r"):
        text = TEXT.replace("\n", newline)
        assert [text[b.start : b.end].replace(newline, "\n") for b in blocks(text)] == [TEXT[b.start : b.end] for b in blocks(TEXT)]


def test_an_open_code_block_reaches_to_the_end() -> None:
    assert blocks("```\na\n\nb") == [Block(0, 8, "lines")]


def test_text_parts_are_sentences_and_the_others_are_lines() -> None:
    text = "  One. Two.\nThree"
    assert parts_of(text, Block(2, len(text), "text")) == [(2, 6), (7, 11), (12, 17)]
    assert parts_of(text, Block(2, len(text), "lines")) == [(2, 11), (12, 17)]


def test_a_blank_text_has_no_blocks() -> None:
    assert blocks("") == blocks(" \n \n") == []
