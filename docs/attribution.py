"""Write the measurements of docs/attribution.md; with --check, say whether those with labels as judge are stale."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.faultbench.answers import LabelledAnswer, planted_answers, recorded_answers
from benchmarks.faultbench.bench import planted_cases
from benchmarks.faultbench.cases import NONE, PlantedCase, overlap
from benchmarks.faultbench.evaluation import AttributedCase, Share, evaluate
from benchmarks.faultbench.indexes import DEEPEST
from benchmarks.faultbench.judged import by_judges, by_labels, judged_answers
from benchmarks.faultbench.run import Bench
from workbench.components.answering.base import AnswerResources
from workbench.components.chunking.recursive import RecursiveChunker
from workbench.components.judging.base import Task
from workbench.components.judging.overlap import OverlapJudge
from workbench.components.judging.sentence_splitter import SentenceSplitter
from workbench.components.judging.settings import EndToEndThresholds, Judging
from workbench.components.retrieval.bm25 import BM25Retriever
from workbench.core.records import Dataset, Span
from workbench.core.storage.vector_cache import VectorCache
from workbench.core.text.words import words
from workbench.data.sources import GoldenSource
from workbench.llm.session import CallResources
from workbench.measures.attribution.answer_causes import JudgedQuestion, JudgeRoles
from workbench.measures.attribution.answer_text import FEWEST_WORDS, expected_answers, states
from workbench.measures.attribution.causes import CAUSE_NAMES
from workbench.measures.metrics.answers import normalised

PAGE = Path(__file__).with_name("attribution.md")
HANDBOOK = Path(__file__).parents[1] / "experiments" / "handbook"
RECORDED = HANDBOOK / "recorded" / "answers.jsonl"
PARTS = ("expected-words", "planted-labels", "recorded-labels", "planted-overlap", "recorded-overlap", "scores")
# Expected answers by their number of words, where a single word is no number.
LENGTHS = ("one word", "one number", "2 words", "3 words", f"{FEWEST_WORDS} words or more")
# The passages without evidence in which an expected answer is looked for.
OTHER_PASSAGES = 10
# The judged facts that a score could decide: the thresholds below which an answer or a claim fails.
CORRECTNESS, RELEVANCE, SUPPORT = (0.4, 0.5, 0.6), (0.2, 0.3, 0.5), (0.3, 0.4, 0.5)


def begin(part: str) -> str:
    """The line before a part that the command writes."""
    return f"<!-- {part}: written by docs/attribution.py -->"


def end(part: str) -> str:
    """The line after it."""
    return f"<!-- {part}: end -->"


def summary(cases: Sequence[AttributedCase]) -> str:
    """The quality of an attribution in a sentence."""
    quality = evaluate(cases)
    return f"{len(cases)} answers, {quality.sound} of them right. Macro-F1 {shown(quality.macro_f1)}, false blame {shown(quality.false_blame)}."


def tables(cases: Sequence[AttributedCase]) -> str:
    """The summary, and the quality of each cause with the causes that are named in its place, as Markdown."""
    quality, counts = evaluate(cases), Counter((case.cause, case.attributed) for case in cases)

    def others(true: str) -> str:
        return ", ".join(f"{count} {named}" for named in (*CAUSE_NAMES, NONE) if named != true and (count := counts[true, named]))

    rows = [
        f"| {each.cause} | {each.cases} | {shown(each.recall)} | {shown(each.precision) if each.precision else 'never named'} "
        f"| {shown(each.f1)} | {others(each.cause)} |"
        for each in quality.causes
    ]
    right = f"| none: right answers | {quality.sound} | | | | {others(NONE)} |"
    head = [summary(cases), "", "| cause | answers | recall | precision | F1 | named in its place |", "|---|---|---|---|---|---|"]
    return "\n".join([*head, *rows, right])


def shown(share: Share) -> str:
    """A share with its interval, which has a width unless nothing varied."""
    if share.low == share.high:
        return f"{share.value:.3f}"
    return f"{share.value:.3f} [{share.low:.3f}, {share.high:.3f}]"


def scores(answers: Sequence[tuple[str, LabelledAnswer, JudgedQuestion]]) -> str:
    """Decisions by thresholds on the scores of the overlap judge, for answers to answerable questions that are neither refusals nor empty."""
    given = [(source, each, judged) for source, each, judged in answers if each.observed.answerable and judged.judgements.tasks]
    sources = tuple(dict.fromkeys(source for source, *_ in given))
    rows = [f"| score | below | {' | '.join(f'{source} answers' for source in sources)} |", "|---|---|" + "---|" * len(sources)]

    def row(score: str, limits: Sequence[float], cell: Callable[[str, float], str]) -> None:
        rows.extend(f"| {score} | {limit} | {' | '.join(cell(source, limit) for source in sources)} |" for limit in limits)

    def of_task(task: Task) -> Callable[[str, float], str]:
        def cell(source: str, limit: float) -> str:
            both = [(each.cause == NONE, judged.judgements.tasks[task].score or 0.0) for name, each, judged in given if name == source]
            right, wrong = ([score < limit for sound, score in both if sound is side] for side in (True, False))
            return f"{sum(right)} of {len(right)} right, {sum(wrong)} of {len(wrong)} wrong"

        return cell

    def of_claims(source: str, limit: float) -> str:
        low = Counter(each.cause for name, each, judged in given if name == source and _denied(each) and (_least(judged) or 0.0) < limit)
        return f"{low['unsupported']} unsupported, {low['contradiction']} contradicted"

    row("correctness", CORRECTNESS, of_task("correctness"))
    row("answer relevance", RELEVANCE, of_task("answer_relevance"))
    row("least support of a claim", SUPPORT, of_claims)
    return "\n".join(rows)


def _denied(answer: LabelledAnswer) -> bool:
    return answer.cause in ("contradiction", "unsupported")


def _least(judged: JudgedQuestion) -> float | None:
    return min((each.score for each in judged.judgements.support if each.score is not None), default=None)


def expected_words(handbook: Dataset) -> str:
    """How often expected answers are in nearly complete evidence, and by chance in passages without evidence, by their length."""
    texts = {document.doc_id: document.text for document in handbook.documents}
    with tempfile.TemporaryDirectory() as folder:
        index = Bench(handbook, Path(folder), DEEPEST).index(RecursiveChunker(size=256), BM25Retriever(k=DEEPEST))
    counts = {length: [0, 0, 0] for length in LENGTHS}
    for query in handbook.queries:
        spans = [span for need in handbook.needs if need.query_id == query.query_id for span in need.alternatives]
        if not query.answerable or not spans:
            continue
        listed = [index.entries[place].chunk for place in index.best[query.query_id][0].tolist()]
        others = [chunk for chunk in listed if not any(overlap(span, Span(chunk.doc_id, chunk.start, chunk.end)) for span in spans)]
        nearly = [texts[span.doc_id][span.start : span.end - 1] for span in spans]
        for expected in expected_answers(query):
            count = counts[_length(expected)]
            count[0] += 1
            count[1] += any(states(text, [expected]) for text in nearly)
            count[2] += any(states(chunk.text, [expected]) for chunk in others[:OTHER_PASSAGES])
    head = ["| expected answer | number | in its evidence without the last character | in ten other passages |", "|---|---|---|---|"]
    return "\n".join([*head, *(f"| {length} | {count[0]} | {count[1]} | {count[2]} |" for length, count in counts.items())])


def _length(expected: str) -> str:
    found = words(normalised(expected))
    if len(found) == 1:
        return LENGTHS[found[0].isdigit()]
    return LENGTHS[min(len(found), FEWEST_WORDS)] if found else LENGTHS[0]


def by_labels_parts(handbook: Dataset, cases: Sequence[PlantedCase]) -> dict[str, str]:
    """The parts that need no judge."""
    return {
        "planted-labels": tables(by_labels(planted_answers(cases))),
        "recorded-labels": summary(by_labels(recorded_answers(handbook, RECORDED))),
    }


def by_judges_parts(handbook: Dataset, cases: Sequence[PlantedCase]) -> dict[str, str]:
    """The parts with the offline judge, which embeds every claim and passage: minutes."""
    overlap = OverlapJudge()
    judging = Judging(claims=SentenceSplitter(), support=overlap, relevance=overlap, correctness=overlap)
    roles = JudgeRoles(overlap.gives_verdicts, overlap.gives_verdicts, EndToEndThresholds())
    answers = {"planted": planted_answers(cases), "recorded": recorded_answers(handbook, RECORDED)}
    with tempfile.TemporaryDirectory() as folder:
        resources = AnswerResources(VectorCache(Path(folder) / "vectors"), CallResources())
        judged = {source: judged_answers(each, judging, resources) for source, each in answers.items()}
    parts = {f"{source}-overlap": tables(by_judges(each, judged[source], roles)) for source, each in answers.items()}
    pairs = [(source, *pair) for source, each in answers.items() for pair in zip(each, judged[source], strict=True)]
    return parts | {"scores": scores(pairs)}


def page(text: str, parts: dict[str, str]) -> str:
    """The text with these parts made again."""
    for part, body in parts.items():
        before, _, rest = text.partition(begin(part))
        text = f"{before}{begin(part)}\n{body}\n{end(part)}{rest.partition(end(part))[2]}"
    return text


def main() -> None:
    """Write the page or check it."""
    handbook = GoldenSource(path=str(HANDBOOK)).load()
    cases, text = planted_cases(handbook), PAGE.read_text("utf-8")
    checking = sys.argv[1:] == ["--check"]
    parts = {"expected-words": expected_words(handbook)} | by_labels_parts(handbook, cases)
    parts |= {} if checking else by_judges_parts(handbook, cases)
    if checking and page(text, parts) != text:
        sys.exit(f"{PAGE} is stale: python docs/attribution.py")
    PAGE.write_text(page(text, parts), "utf-8")


if __name__ == "__main__":
    main()
