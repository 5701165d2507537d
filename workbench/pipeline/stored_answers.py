"""Contexts, answers, claims and tests of judges as the stages have stored them, for the stages after these."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import ClassVar
import pandas as pd
from workbench.judging.base import Judge, Task
from workbench.judging.trust import Trust, known_answers, trust
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.pipeline.stage_results import StageResults
from workbench.pipeline.stages.judging.judged_stage import JudgedStage
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import ResultWriter, StoredResult

import pandas as pd
from workbench.judging.claims.base import AnswerClaims, SplitRequest
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node
from workbench.pipeline.stages.judging.judged_stage import JudgedStage, claims_of, record_calls
from workbench.storage.result_store import ResultWriter, StoredResult

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, ClassVar
import numpy as np
import pandas as pd
from workbench.answering.base import Answer, AnswerRequest, AnswerResources, Generator
from workbench.answering.citations import VERSION as CITATIONS_VERSION
from workbench.answering.refusals import VERSION as REFUSALS_VERSION
from workbench.answering.refusals import is_refusal
from workbench.context.conditions import RETRIEVED
from workbench.core.progress import ProgressBar
from workbench.errors import RunError
from workbench.llm.base import lost_tries
from workbench.llm.replies.answers import CUT_REASONING, separated
from workbench.llm.replies.answers import VERSION as REPLIES_VERSION
from workbench.perturb.outcomes import outcome_of
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext
from workbench.pipeline.stage import Identity, Inputs, Node, Stage, TableMakers
from workbench.pipeline.stage_results import StageResults
from workbench.records import Passage, Variant
from workbench.schemas import SCHEMAS
from workbench.storage.result_store import ResultWriter, StoredResult

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
import numpy as np
import numpy.typing as npt
import pandas as pd
from workbench.answering.base import Generator
from workbench.answering.prompt_tokens import prompt_tokens
from workbench.context.conditions import CLEAN_TWINS, COUNTERFACTUAL, INJECTION, IRRELEVANT_ONLY, NONE, RANKED, RETRIEVED
from workbench.context.context_packing import ContextPacking, PackedContext
from workbench.context.contexts import ContextBuilder, ContextOutcome
from workbench.context.delivered_slices import DeliveredSlices
from workbench.context.question_labels import QuestionLabels, passage_of, question_labels
from workbench.core.fingerprint import fingerprint
from workbench.errors import InputError, RunError
from workbench.metrics.case import Case
from workbench.metrics.delivery import delivered
from workbench.models.tokenizers import BUDGET_VOCABULARY, tokenised, vocabulary_digest
from workbench.perturb.planting import attack_texts, plant
from workbench.pipeline.configuration import Configuration
from workbench.pipeline.context import RunContext, memoised_by_run
from workbench.pipeline.stage import Identity, Inputs, Node, Stage
from workbench.pipeline.stage_results import retrieved
from workbench.pipeline.target_tables import RETURNED
from workbench.records import Passage, Variant
from workbench.storage.result_store import ResultWriter, StoredResult

FAILED = "a call of the judge's test on known answers failed"





def passages_of(entry: StoredResult) -> dict[int, tuple[Passage, ...]]:
    """Return the passages of each question to which the condition applies, in the order of the prompt."""
    about, rows = entry.table("contexts"), entry.table("passages")
    found: dict[int, list[Passage]] = {query: [] for query in about.loc[about["reason"] == "", "query"].tolist()}
    columns = ["query", "doc_id", "start", "end", "text", "title", "planted"]
    for query, *values in rows.sort_values(["query", "number"], kind="stable")[columns].itertuples(index=False, name=None):
        found[query].append(Passage(*values))
    return {query: tuple(passages) for query, passages in found.items()}


def answer_rows(entry: StoredResult, of_model: Iterable[StoredResult]) -> pd.DataFrame:
    """Return the table of a variant's answers without those that are reasoning, as the model's answers in all variants show.

    A template that writes the beginning of the reasoning into the prompt leaves only its end in a reply. A reply that was cut before the end has no
    mark at all, and only the other replies of the model show that it is no answer.
    """
    rows = entry.table("answers")
    if not any(each.table("answers")["unopened"].any() for each in of_model):
        return rows
    cut = rows["truncated"].eq(True).fillna(False).astype(bool) & ~rows["reasoned"] & (rows["error"] == "")
    empty = {"text": "", "citations": "[]", "refused": False, "error": CUT_REASONING.reason}
    return rows.assign(**{name: rows[name].mask(cut, value) for name, value in empty.items()})


def outcomes_of(contexts: StoredResult, rows: pd.DataFrame) -> dict[int, str]:
    """Return the outcome of each of the `answer_rows` to a context with a planted text: the label of a recorded answer, or what its text shows, else empty."""
    about = contexts.table("contexts")
    planted = dict(zip(about["query"].tolist(), about["planted"].tolist(), strict=True))
    given = zip(rows["query"].tolist(), rows["text"].tolist(), rows["error"].tolist(), rows["outcome"].tolist(), strict=True)
    return {
        query: label or (outcome_of(text, json.loads(planted[query])) if text else "")
        for query, text, error, label in given
        if planted[query] and not error
    }


def given_answers(entry: StoredResult) -> dict[int, str]:
    """Return the text of each answer by question, without refusals and failed answers."""
    rows = answer_rows(entry, [entry])
    given = rows[(rows["error"] == "") & ~rows["refused"] & rows["text"].str.strip().astype(bool)]
    return dict(zip(given["query"].tolist(), given["text"].tolist(), strict=True))


def stored_claims(entry: StoredResult) -> list[tuple[int, int, str]]:
    """Return question, number and text of each claim."""
    rows = entry.table("claims")
    rows = rows[rows["number"] >= 0]
    return list(zip(rows["query"].tolist(), rows["number"].tolist(), rows["text"].tolist(), strict=True))


def trust_in(entry: StoredResult) -> Trust:
    """Return the result of a test."""
    values = entry.values("trust")
    return Trust(**{**values, "weak_kinds": tuple(values["weak_kinds"])})
