"""The families of models, whose members share training data and taste."""

import re

# A name belongs to the first family with a match. Derived models are named after what they were trained on first.
_FAMILIES = {
    "deepseek": r"deepseek",
    "gpt": r"(?<![a-z])(?:chat)?gpt-?\d|(?<![a-z])chatgpt|gpt-oss|davinci|(?<![a-z0-9])o[1-9](?:$|[^a-z0-9])",
    "claude": r"claude",
    "gemma": r"gemma",
    "gemini": r"gemini",
    "qwen": r"qwen|(?<![a-z])qwq|(?<![a-z])qvq",
    "mistral": r"mistral|mixtral|ministral|codestral|magistral|devstral|pixtral|voxtral|mathstral|zephyr",
    "llama": r"llama(?!\.?cpp)|vicuna|alpaca",
    "phi": r"(?<![a-z])phi(?![a-z])",
    "command": r"(?<![a-z])command-(?:r|a|light|nightly)|c4ai|(?<![a-z])aya(?![a-z])",
    "smollm": r"smollm",
    "granite": r"granite",
    "falcon": r"falcon",
    "olmo": r"olmo(?!d)|tulu",
    "glm": r"(?<![a-z])(?:chat)?glm",
    "grok": r"(?<![a-z])grok",
    "kimi": r"kimi|moonshot",
    "nova": r"(?<![a-z])nova-(?:micro|lite|pro|premier)",
    "yi": r"(?<![a-z])yi-(?:\d|large|lightning|medium|coder|vl)",
    "internlm": r"internlm",
    "minimax": r"minimax",
    "exaone": r"exaone",
}
_PATTERNS = {name: re.compile(pattern) for name, pattern in _FAMILIES.items()}


def model_family(name: str) -> str:
    """Return the family of a model by its name on a server or the name of its file, or an empty text if it is not known.

    A model of a family prefers answers of its family, so a family should not write questions, answer and judge at once.

    References
    ----------
    Panickssery, Bowman and Feng (2024), LLM Evaluators Recognize and Favor Their Own Generations, NeurIPS.

    Examples
    --------
    >>> model_family("us.anthropic.claude-sonnet-4-5"), model_family("qwen3:4b"), model_family("words")
    ('claude', 'qwen', '')
    """
    lower = name.casefold()
    return next((family for family, pattern in _PATTERNS.items() if pattern.search(lower)), "")
