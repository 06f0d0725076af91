-- Join first; rank only rows that are not behind all that is relevant.
WITH judged AS (
    SELECT query_id, doc_id, relevance FROM qrels WHERE relevance > 0
), found AS MATERIALIZED (
    SELECT query_id, doc_id, score, relevance
    FROM run JOIN judged USING (query_id, doc_id)
), lowest AS (
    SELECT query_id, min(score) AS least FROM found GROUP BY query_id
), ranked AS (
    SELECT r.query_id, doc_id, row_number() OVER (
        PARTITION BY r.query_id ORDER BY score DESC, doc_id::VARCHAR DESC) AS rank
    FROM run r JOIN lowest l ON r.query_id = l.query_id AND r.score >= l.least
), hits AS (
    SELECT query_id, relevance, rank FROM found JOIN ranked USING (query_id, doc_id)
)
