"""Judgements from the probability of a model's first token: yes or no."""

import math
from collections.abc import Mapping

from workbench.judging.base import Judgement, Task

# Below this, the model is about to write something else, so that the shares of yes and no mean little.
LEAST_MASS = 0.5
# How many alternatives of the token are requested, the most that OpenAI and Ollama return.
ALTERNATIVES = 20


def yes_no_judgement(task: Task, logprobs: Mapping[str, float] | None) -> Judgement:
    """Return the judgement whose score is the probability of yes among yes and no, in any case and with any blanks around them.

    A claim with a score below 0.5 is `absent`: a model that is not asked for contradictions does not find any. The judgement has an `error`
    if the reply has no probabilities, or if less than half of the probability is that of yes and no.
    """
    if logprobs is None:
        return Judgement(error="the reply has no log-probabilities; a judge with replies: yes_no needs a server that returns them")
    masses = {"yes": 0.0, "no": 0.0}
    for token, value in logprobs.items():
        if (word := token.strip().casefold()) in masses:
            masses[word] += math.exp(min(value, 0.0))
    mass = sum(masses.values())
    if mass < LEAST_MASS:
        return Judgement(error=f"the model was about to reply neither yes nor no (less than {LEAST_MASS:.0%} of its probability)")
    score = masses["yes"] / mass
    if task != "support":
        return Judgement(score=score)
    return Judgement(score=score, verdict="supported" if score >= 0.5 else "absent", confidence=max(score, 1 - score))
