"""Match, rank and sort documents of many queries at once, as flat arrays.

The only place that works on the rows of judgments and runs with numpy. It knows no metrics, and of
policies only the order of documents and what happens to duplicates. Other packages use:

- `reading.read_batches`: read an input once, in batches of whole queries, whatever the order of its
  rows.
- `batch.hashed`: add a hash of its query and a key of 64 bits to each row of a table.
  `batch.Batch`: rows of whole queries with these keys. `batch.Ids`: ids that are looked up when
  needed. `batch.text_order`: sort ids.
- `matching.QueryIndex`: a table in memory as one batch, by query. `match_documents`: find its
  rows for the documents of a batch; `find_documents`: for the documents of any two lists;
  `find_ids`: find ids in an index; `group_equal`: find equal ids in one list.
- `ranking.rank_documents`: rank rows of a batch. `ranking.RankedBatch`: its rows in ranked order.
- `duplicates.deduplicate`: refuse rows of the same document, or keep the best; `deduplicate_batch`:
  do so in a batch.
- `segments`: primitives over rows that belong to queries: sort, count, number and spread.
  `tables`: hash tables of keys.

Why not a polars join? Measured on 30 million rows, in seconds of CPU: these modules 5.0, with
validation and counts; a join per batch and grouped expressions 8.4 to 10.9, according to the size
of batches; joins of whole columns 10.2; the same in DuckDB's SQL 11.4. Keys are computed once and
verified by the ids, so no collision of hashes changes a result.
"""
