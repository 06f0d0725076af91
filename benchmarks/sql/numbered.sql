-- Number the queries that have something relevant, and rank by these numbers in place of ids.
WITH numbers AS MATERIALIZED (
    SELECT query_id AS id, row_number() OVER () AS query_id
    FROM (SELECT DISTINCT query_id FROM qrels WHERE relevance > 0)
), judged AS (
    SELECT n.query_id, doc_id, relevance
    FROM qrels q JOIN numbers n ON q.query_id = n.id WHERE relevance > 0
), ranked AS (
    SELECT n.query_id, doc_id, row_number() OVER (
        PARTITION BY n.query_id ORDER BY score DESC, doc_id::VARCHAR DESC) AS rank
    FROM run r JOIN numbers n ON r.query_id = n.id
), hits AS (
    SELECT query_id, relevance, rank FROM ranked JOIN judged USING (query_id, doc_id)
)
