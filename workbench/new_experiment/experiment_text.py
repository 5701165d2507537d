"""Write an experiment file with comments that say why each setting is there."""

import json
import math
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import yaml

from workbench.experiment.json_schema import EDITOR_LINE
from workbench.new_experiment.proposal import Proposal, ProposedSetting

_WIDTH = 118
# A difference that a decision usually turns on.
PROPOSED_DIFFERENCE = 0.05
_PLAIN = re.compile("[A-Za-z_./][A-Za-z0-9_./-]*")


def experiment_text(name: str, path: str, proposal: Proposal, remarks: Iterable[str]) -> str:
    """Return the YAML of an experiment on the golden folder at `path`, with `remarks` on its questions at the top."""
    lines = [
        EDITOR_LINE,
        "# Which chunking finds the right passages in these documents?",
        "#",
        *(f"# {line}" for about in proposal.about for line in _wrapped(f"{about}.")),
        *(f"# {line}" for remark in remarks for line in _wrapped(f"{remark}.")),
        f"name: {_scalar(name)}",
        f"dataset: {{kind: golden, path: {_scalar(path)}}}",
        "pipeline:",
        *_commented(f"  embedding: {_flow(proposal.embedding.settings)}", proposal.embedding.why, "  "),
        "sweep:",
        *_axis("chunking", proposal.chunkings),
        *(_axis("retrieval", proposal.retrievers) if proposal.retrievers else []),
        f"metrics: [{', '.join(proposal.metrics)}]",
        f"primary: {proposal.metrics[0]}  # the evidence that is found within the same amount of text, whatever the chunks' sizes",
        *_commented(
            f"smallest_difference: {PROPOSED_DIFFERENCE}",
            "smaller differences in the primary metric do not matter; the report says how many questions would show one of this size",
            "",
        ),
        *([f"baseline: {_scalar(proposal.baseline)}"] if not proposal.retrievers else []),
    ]
    return "\n".join(lines) + "\n"


def _axis(name: str, settings: Iterable[ProposedSetting]) -> Iterator[str]:
    yield f"  {name}:"
    for each in settings:
        yield from _commented(f"    - {_flow(each.settings)}", each.why, "    ")


def _commented(line: str, why: str, indent: str) -> Iterator[str]:
    """Yield a setting below the reason for it."""
    yield from (f"{indent}# {part}" for part in _wrapped(why))
    yield line


def _flow(settings: Mapping[str, Any]) -> str:
    return f"{{{', '.join(f'{key}: {_scalar(value)}' for key, value in settings.items())}}}"


def _scalar(value: Any) -> str:
    """Return a value as YAML. A text has quotes unless it is a plain name that YAML reads as the same text: not `2024`, `yes` or `.5`."""
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and yaml.safe_load(value) == value:
        return value
    return str(yaml.safe_dump(value, default_style='"', allow_unicode=True, width=math.inf)).strip()


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(" ".join(text.split()), _WIDTH, break_long_words=False, break_on_hyphens=False)
