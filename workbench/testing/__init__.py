"""Check components of your own package: `check_chunker(PageChunker())` raises LawError if one breaks a law.

Each check runs all laws of one kind of component on small data with awkward cases: no network, no model but the component's own.
The laws are functions, so that pytest can report each by its name:
`@pytest.mark.parametrize("law", CHUNKER_LAWS)`, then `law(PageChunker())`.

Test a RAG system: `assert_recall(results, 0.8)` and the other assertions take the results of a sweep, or a system and a dataset. `suite/` is the
pytest plugin: a test for each rule of an experiment's gate.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
