"""Calls of chat models, with cache, budget, retries and claims on a call, and the models on this machine.

`session` is the one way to ask a model, `providers/` has the servers, `replies/` reads what they say. `models/` finds and loads weights, tokenizers and
GGUF files; `models/http` is the one client of HTTP. Components, systems and people's drafts import `session` and `models/`.
"""
