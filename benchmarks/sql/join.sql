-- Read both files and join them: the limit.
SELECT count(*), sum(score), sum(relevance) FROM run JOIN qrels USING (query_id, doc_id)
