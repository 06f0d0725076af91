-- Number the queries, read the run once, and sort the scores of each query as a list, in which those
-- of what is relevant are looked up; documents are compared only where scores tie.
WITH numbers AS MATERIALIZED (
    SELECT query_id AS id, row_number() OVER () AS query_id
    FROM (SELECT DISTINCT query_id FROM qrels WHERE relevance > 0)
), judged AS MATERIALIZED (
    SELECT n.query_id, doc_id, relevance
    FROM qrels q JOIN numbers n ON q.query_id = n.id WHERE relevance > 0
), known AS MATERIALIZED (
    SELECT n.query_id, doc_id, score FROM run r JOIN numbers n ON r.query_id = n.id
), found AS MATERIALIZED (
    SELECT query_id, doc_id, score, relevance FROM known JOIN judged USING (query_id, doc_id)
), scores AS (
    SELECT query_id, list_reverse_sort(list(score)) AS scores FROM known GROUP BY query_id
), tied AS (
    SELECT f.query_id, f.doc_id, count(*) AS ahead
    FROM known r JOIN found f
        ON r.query_id = f.query_id AND r.score = f.score
        AND r.doc_id::VARCHAR > f.doc_id::VARCHAR
    GROUP BY f.query_id, f.doc_id
), hits AS (
    SELECT query_id, relevance, list_position(scores, score) + coalesce(ahead, 0) AS rank
    FROM found JOIN scores USING (query_id) LEFT JOIN tied USING (query_id, doc_id)
)
