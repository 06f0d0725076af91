-- Mark what is relevant, rank all rows of queries that have judgments, and keep what is marked.
WITH judged AS (
    SELECT query_id, doc_id, relevance FROM qrels WHERE relevance > 0
), hits AS (
    SELECT r.query_id, relevance, row_number() OVER (
        PARTITION BY r.query_id ORDER BY score DESC, r.doc_id::VARCHAR DESC) AS rank
    FROM (FROM run SEMI JOIN qrels USING (query_id)) r
        LEFT JOIN judged q
        ON r.query_id = q.query_id AND r.doc_id = q.doc_id
    QUALIFY relevance IS NOT NULL
)
