-- Rank all rows, then join.
WITH judged AS (
    SELECT query_id, doc_id, relevance FROM qrels WHERE relevance > 0
), ranked AS (
    SELECT query_id, doc_id, row_number() OVER (
        PARTITION BY query_id ORDER BY score DESC, doc_id::VARCHAR DESC) AS rank
    FROM run
), hits AS (
    SELECT query_id, relevance, rank
    FROM ranked JOIN judged USING (query_id, doc_id)
)
