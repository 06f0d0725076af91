-- Join first; the rank of what is relevant is how many rows of its query are not behind it.
WITH judged AS (
    SELECT query_id, doc_id, relevance FROM qrels WHERE relevance > 0
), found AS MATERIALIZED (
    SELECT row_number() OVER () AS number, query_id, doc_id::VARCHAR AS doc_id, score, relevance
    FROM run JOIN judged USING (query_id, doc_id)
), counted AS (
    SELECT number, count(*) AS rank
    FROM run r JOIN found f
        ON r.query_id = f.query_id AND r.score >= f.score
        AND (r.score > f.score OR r.doc_id::VARCHAR >= f.doc_id)
    GROUP BY number
), hits AS (
    SELECT query_id, relevance, rank FROM found JOIN counted USING (number)
)
