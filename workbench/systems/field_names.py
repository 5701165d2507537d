"""The names of fields in replies, whatever they come by: functions, services, files of other tools. Systems name them as they like; the usual come first."""

# Hits. The id of a document precedes that of its chunk.
DOC_IDS = ("doc_id", "document_id", "docid", "docno", "ref_doc_id")
CHUNK_IDS = ("id", "_id", "id_", "node_id")
TEXTS = ("page_content", "text", "content", "chunk", "passage", "body", "document", "context")
SCORES = ("score", "similarity", "relevance_score")
STARTS, ENDS = ("start", "start_index", "start_char_idx"), ("end", "end_index", "end_char_idx")

# Lists of hits: the sources of an answer, and the hits in a result. Texts under the names of passages are never ids.
PASSAGES = ("contexts", "context", "retrieved_contexts")
SOURCES = ("sources", "source_documents", "source_nodes", *PASSAGES, "hits", "documents", "retrieved", "results")
HITS = (*SOURCES, "docs", "nodes", "matches", "chunks")
# In a recorded output `sources` are often only names.
RECORDED_HITS = (
    *("documents", "retrieved_documents", "source_documents", "retrieved_contexts", "retrieval_context", "hits", "chunks", "passages"),
    *("nodes", "source_nodes", "sources", "citations", "contexts", "context", "docs"),
)

# Answers, and why they ended.
ANSWERS = ("answer", "generated_answer", "response", "output", "result", "content", "text")
RECORDED_ANSWERS = (
    *("answer", "generated_answer", "output", "response", "result", "content", "parts", "text", "output_text", "completion"),
    *("generation", "generations", "message", "messages", "choices", "candidates"),
)
FINISHES = ("finish_reason", "stop_reason", "done_reason")
# Beside an answer, or in its place.
BESIDE = ("reasoning_content", "reasoning", "thinking", "tool_calls", "function_call", "refusal")

# Questions in recorded inputs.
QUESTIONS = ("question", "query", "user_input", "user_query", "input", "prompt", "text", "content", "messages")

# The paths of presets of services. They are part of the identity of stored replies, so a change asks everything again.
HIT_PATHS = {
    "id": ["$.doc_id", "$.document_id", "$.metadata.doc_id", "$.id", "$.metadata.id", "$"],
    "text": ["$.text", "$.content", "$.page_content", "$.chunk", "$.passage"],
    "score": ["$.score", "$.relevance", "$.relevance_score", "$.similarity"],
    "start": ["$.start", "$.metadata.start"],
    "end": ["$.end", "$.metadata.end"],
    "metadata": ["$.metadata", "$.meta"],
}
