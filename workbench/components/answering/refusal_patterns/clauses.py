"""Parts of the patterns of all languages.

A refusal says what the sources do not say or the speaker does not know. A negative fact says what is not so in the world. These separate them:

- The subject. Passages that "do not cover" a topic refuse; a warranty that does not cover batteries is a fact. So nouns for what a model reads
  (passages, context, handbook) refuse with most verbs, and nouns for rules and other writings (policy, contract) with verbs of saying only.
- The verb. "Is not mentioned" is about a text, "is not included" about the world unless a source follows.
- The tense. "The victims were not named" is a fact of the past; sources are described in the present.
- The obligation. "Do not write in the documents" says what may not be done.

Before a pattern is tried, nouns of the `SOURCES` of its language are replaced by the words below: patterns with whole lists of nouns are slow.
"""

CONTEXT, READ, MANUAL, RULES = "qqc", "qqr", "qqm", "qqw"
# Passages; these and what people look things up in; any writing.
SHOWN, LOOKED_UP, ANY = "qq[cr]", "qq[crm]", "qq[crmw]"


def within(length: int) -> str:
    """Match a gap within a clause."""
    return rf"[^.;:]{{0,{length}}}"


def silent_subject(source: str, negation: str, auxiliary: str) -> str:
    """Match a source before a negated verb, unless the verb says what is done with it: "the documents need not be signed"."""
    return rf"\b{source}\b{within(30)}{negation} ?(?!{auxiliary})\w+"


def not_located(negation: str, source: str, obligation: str) -> str:
    """Match a negation before "in SOURCE", unless the clause says what must or may not be done: "do not write in the documents"."""
    return rf"^(?!{within(200)}\b{obligation}\b){within(120)}{negation}{within(80)}\b{source}\b"
