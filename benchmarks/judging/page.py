"""The page docs/judges.md from measured figures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.judging.labels import SETS, LabelledSet

PAGE = Path("docs/judges.md")
Figures = dict[str, Any]
_OTHERS = ("context_relevance", "answer_relevance", "correctness")
_FIRST = ("word overlap", "overlap")


def page(results: Figures) -> str:
    """The page as Markdown."""
    rows = results["rows"]
    return (
        "\n\n".join(
            [
                _introduction(rows),
                "## What is measured",
                _measures(rows),
                "## Support of claims",
                _table([row for row in rows if row["task"] == "support"], contradictions=True),
                "## Relevance and correctness",
                _table([row for row in rows if row["task"] in _OTHERS], contradictions=False),
                "## Refusals",
                _refusals(results["refusals"]),
                "## How to read the figures",
                _reading(rows),
                "## Flags",
                _flags(results["flags"]),
                "## Claims by rules",
                _splitter(results["splitter"]),
                "## Repeat it",
                _command(),
            ]
        )
        + "\n"
    )


def _introduction(rows: Sequence[Figures]) -> str:
    support = _row(rows, "handbook", "overlap")["auroc"]
    edits = _row(rows, "minimal edits", "overlap")["auroc"]
    return f"""# Judges, measured

<!-- written by: python -m benchmarks.judging -->

How often do the judges of Workbench agree with labels? `overlap` is the default for every task. It needs no language model, gives scores and no verdicts,
and is called a score: on supported claims of the handbook's recorded answers against others, its AUROC is {_shown(support)}, and on claims that differ from a
supported one in a few words, {_shown(edits)}. 0.5 is chance.

A judge measured here is not measured on your documents: [test it](how-to/judge_answers.md#test-a-judge), and label a sample of your own run."""


def _measures(rows: Sequence[Figures]) -> str:
    lines = ["| set | task | items | to approve | intervals by |", "|---|---|---|---|---|"]
    for labelled in SETS:
        first = next((row for row in rows if row["set"] == labelled.name), None)
        if first:
            lines.append(
                f"| {labelled.name}: {labelled.what} | {labelled.task} | {first['items']:,} | {first['approve']:,} "
                f"| {first['clusters']} {labelled.clusters} |"
            )
    return (
        "\n".join(lines)
        + """

The labels of WiCE and the votes of MTRAG (IBM) are those of people. The handbook, its recorded answers with planted faults, their labels and the known answers were
written by a language model for this project. Intervals are 95 % limits of a bootstrap (2,000 samples) of documents, questions or contexts, since items of one of these
resemble each other.

- **AUROC**: how likely an item to approve scores higher than another, ties counted half. It needs no threshold.
- **Balanced accuracy**: the mean of the shares of items to approve that score at least 0.5, and of others that score less.
- **Contradictions found**: the share of contradicted claims below a threshold that at most 10 % of the supported claims are below. Only the handbook's labels tell
  contradicted claims from absent ones.
- **Without a score**: items whose reply cannot be read: another scale or numbering, a quote that no passage has, or reasoning without an answer. How replies are
  read is described under [Judge with a model](how-to/judge_answers.md#how-a-model-judges).

A judge that approves everything has an AUROC of 0.50. *Word overlap* is the share of the words of the claim, the question or the expected answer in all passages, or in the answer; stemmed,
without stop words."""
    )


def _table(rows: Sequence[Figures], *, contradictions: bool) -> str:
    names = sorted(
        {row["judge"] for row in rows} - {"always yes"}, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)
    )
    header = [
        "set",
        "judge",
        "AUROC",
        "balanced accuracy",
        *(["contradictions found"] if contradictions else []),
        "items",
        "without a score",
    ]
    lines = [f"| {' | '.join(header)} |", f"|{'---|' * len(header)}"]
    for labelled in SETS:
        for name in names:
            for row in rows:
                if (row["set"], row["judge"]) == (labelled.name, name):
                    cells = [labelled.name, name, _shown(row["auroc"]), _shown(row["balanced_accuracy"])]
                    cells += [_shown(row["found_contradictions"])] if contradictions else []
                    lines.append(f"| {' | '.join([*cells, format(row['items'], ','), str(row['unscored'])])} |")
    return "\n".join(lines)


def _reading(rows: Sequence[Figures]) -> str:
    handbook = _row(rows, "handbook", "overlap")
    found = handbook["found_contradictions"]
    words = _row(rows, "handbook", "word overlap")["found_contradictions"]
    known = _row(rows, "known passages", "overlap")
    passages = _row(rows, "handbook passages", "overlap")
    topics = _row(rows, "off-topic answers", "overlap")
    correct = _row(rows, "correct answers", "overlap")
    large, large_words = _row(rows, "MTRAG answers", "overlap"), _row(rows, "MTRAG answers", "word overlap")
    return f"""- `overlap` sees missing content, and hardly sees contradictions: at 10 % false alarms it finds {_shown(found)} of the contradicted claims, word overlap {_shown(words)}. A
  negation, another name or the opposite leave most words where they are.
- Its scores are no probabilities. A balanced accuracy at 0.5 that is far below the AUROC means that 0.5 is the wrong threshold for that set:
  {_share(handbook["balanced_accuracy"])} on the handbook's claims. A threshold from one set is often wrong for another, so compare configurations by differences, and
  decide about single claims only after calibration on labels of your own.
- Word overlap alone has an AUROC of {_auroc(rows, "MTRAG", "word overlap")} on the answers of MTRAG ({_auroc(rows, "MTRAG", "overlap")} for `overlap`),
  {_auroc(rows, "handbook passages", "word overlap")} on the handbook's passages ({_auroc(rows, "handbook passages", "overlap")}) and
  {_auroc(rows, "off-topic answers", "word overlap")} on off-topic answers ({_auroc(rows, "off-topic answers", "overlap")}): `overlap` is not better everywhere.
- Its relevance is the largest cosine of a sentence with the question. The mean of this cosine and the share of the question's words has a higher AUROC on the handbook's
  passages and on off-topic answers, and a lower one on the known passages, where words are shared by design. The cosine alone was preferred because the
  same threshold, 0.5, suits all three sets: balanced accuracy {_share(known["balanced_accuracy"])} on the known passages, {_share(passages["balanced_accuracy"])} on the handbook's and
  {_share(topics["balanced_accuracy"])} on off-topic answers. The choice was made on these sets.
- Correctness is measured on recorded answers with planted faults ({_shown(correct["auroc"])}), many of which have another number that `overlap` sees. On answers of large models in
  MTRAG it is hardly better than chance ({_shown(large["auroc"])}; word overlap {_shown(large_words["auroc"])}), with the answer of a person as the expected one and the votes of people on
  completeness. So a number of failed answers by `overlap` counts differences in words, not errors: reports state both figures beside it.
- For support, word overlap is as good on two of the four sets above, MTRAG and minimal edits. In a measurement on eight held-out sets outside this project, which the command does
  not repeat, it was as good on two, and the mean AUROC of `overlap` was 0.787. Twelve variants of `overlap` gained nothing across these sets."""


def _refusals(rows: Sequence[Figures]) -> str:
    lines = ["| set | refusals | missed | other answers | taken for refusals |", "|---|---|---|---|---|"]
    for row in rows:
        refusals, others = row["missed"], row["taken"]
        cells = [str(refusals[1]) if refusals else "–", _errors(refusals), f"{others[1]:,}" if others else "–", _errors(others)]
        lines.append(f"| {row['set']} | {' | '.join(cells)} |")
    return (
        """A refusal is recognised by rules, without a model, in English, German, French, Spanish, Portuguese, Italian and Dutch. **Refusals in other languages are
not recognised**: give `refusal_phrases` to the generator, or `refused` with recorded answers and in the replies of a target. A refusal says what the sources do not say
("none of the passages address parking") or the speaker does not know; a negative fact says what is not so ("contractors are not covered by the leave section"), and is scored as
an answer. So nouns for what a model reads refuse with most verbs, and nouns such as *policy* or *warranty* only with verbs of saying; "is not mentioned" refuses, "is not
included" only where a source follows. A question of yes or no decides two cases: "not available" answers it, and "the report does not mention layoffs" answers it.

"""
        + "\n".join(lines)
        + """

Shares with Wilson's 95 % limits. The sentences are short and adversarial; we wrote them, in the styles of models, of people and of notes, and held-out ones were measured
once, after the rules were written. The rules were written by the tuning sentences, so that only the held-out rows say how new wordings fare, in particular outside English, where
the sentences of the languages resemble each other. The misses among the answers of people were read while the rules were written; the four that remain answer, or go on with an answer. Sentences of collections are statements with a negation, none
of which refuses; rules were changed by some of them.

What follows from it: a missed refusal counts as an answer, which is judged, lowers the refusal rate, and scores 0 if it should have answered; an answer taken for a refusal scores 0 in
every answer metric. Read refusal rates with these errors, and where they decide, look at the answers or give `refused`."""
    )


def _errors(errors: Sequence[float] | None) -> str:
    if errors is None:
        return "–"
    wrong, of, low, high = errors
    return f"{wrong:.0f}: {wrong / of:.3f} [{low:.3f}, {high:.3f}]"


def _flags(rows: Sequence[Figures]) -> str:
    lines = ["| flag | claims | not supported |", "|---|---|---|"]
    lines += [f"| {row['flag']} | {row['claims']} | {row['not_supported'] / max(1, row['claims']):.0%} |" for row in rows]
    return (
        "A claim and the sentence closest to it can differ in a number, a negation, an opposite or a name. A flag names the difference and changes no score. "
        "On the handbook's claims:\n\n" + "\n".join(lines)
    )


def _splitter(figures: Figures) -> str:
    return (
        f"The splitter `sentences` was compared with the {figures['labelled']:,} labelled claims of {figures['answers']} recorded answers. "
        f"{figures['found'] / figures['labelled']:.0%} of them have at least 80 % of their words in one claim, and {figures['alone'] / figures['labelled']:.0%} are alone in it: "
        f"the splitter makes {figures['claims'] / figures['answers']:.1f} claims of an answer, the labels {figures['labelled'] / figures['answers']:.1f}. "
        "A claim of two statements counts as unsupported if one of them is, so shares of supported claims are lower, and more alike, than with finer claims."
    )


def _command() -> str:
    return """```bash
python -m benchmarks.judging
python -m benchmarks.judging --refusals --answers mtragun-human/generation_tasks/reference.jsonl
python -m benchmarks.judging --model models/judge.gguf --sample 100
```

The command measures the baselines and `overlap` on every set and writes this page and `benchmarks/results/judging.json`. WiCE and MTRAG are read from
`judge-labels` in `WORKBENCH_DATA`; without them their rows stay as they are. `--answers` names a file of the public repository of MTRAG. `--model` adds the rows of a chat model in a GGUF file, on a sample of each set. Its replies are cached, so
that an interrupted run goes on where it was."""


def _row(rows: Sequence[Figures], name: str, judge: str) -> Figures:
    return next(row for row in rows if (row["set"], row["judge"]) == (name, judge))


def _auroc(rows: Sequence[Figures], name: str, judge: str) -> str:
    return _share(_row(rows, name, judge)["auroc"])


def _shown(figure: Sequence[float] | None) -> str:
    if figure is None:
        return "–"
    value, low, high = (_share([number]) for number in figure)
    return f"{value} [{low}, {high}]"


def _share(figure: Sequence[float]) -> str:
    return f"{figure[0]:.2f}"


def sets_of(names: Sequence[str]) -> list[LabelledSet]:
    """The sets with these names, or all."""
    return [labelled for labelled in SETS if not names or labelled.name in names]
