"""Match, rank and sort documents of many queries at once, as flat arrays.

The only place that works on the rows of judgments and runs with numpy. It knows no metrics, and of
policies only what orders documents. Other packages use these, each documented in its module:

- `batch.Batch`: rows of whole queries, contiguous, with a key of 64 bits for each; `hashed` adds
  the keys to a table.
- `reading.read_batches`: reads an input once in batches, whatever the order of its rows.
- `matching.match_documents`: finds the rows of a batch in a `QueryIndex`, a table in memory by
  query; `find_documents` does so for two lists of documents, `group_equal` within one.
- `ranking.rank_documents`: ranks all rows of a batch, or only these; `RankedBatch` gives the
  order of all.
- `duplicates.deduplicate`: refuses rows of the same document, or keeps the best of them;
  `deduplicate_batch` does so in a batch.
- `segments`: numpy primitives over rows that belong to queries; `batch.text_order` sorts ids.

Why not a join of polars? Measured on 30 million rows, in seconds of CPU: these modules 5.0, with
validation and counts; a join for each batch and grouped expressions 8.4 to 10.9, according to the
size of batches; joins of whole columns 10.2; the same in DuckDB's SQL 11.4. The keys are computed
once and verified by the ids, so that no collision of hashes changes a result.
"""
