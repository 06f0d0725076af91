-- As counted.sql, with numbers in place of the ids of queries, and the run read once.
WITH numbers AS MATERIALIZED (
    SELECT query_id AS id, row_number() OVER () AS query_id
    FROM (SELECT DISTINCT query_id FROM qrels WHERE relevance > 0)
), judged AS MATERIALIZED (
    SELECT n.query_id, doc_id, relevance
    FROM qrels q JOIN numbers n ON q.query_id = n.id WHERE relevance > 0
), known AS MATERIALIZED (
    SELECT n.query_id, doc_id, score FROM run r JOIN numbers n ON r.query_id = n.id
), found AS MATERIALIZED (
    SELECT row_number() OVER () AS number, query_id, doc_id, score, relevance
    FROM known JOIN judged USING (query_id, doc_id)
), counted AS (
    SELECT number, count(*) AS rank
    FROM known r JOIN found f
        ON r.query_id = f.query_id AND r.score >= f.score
        AND (r.score > f.score OR r.doc_id::VARCHAR >= f.doc_id::VARCHAR)
    GROUP BY number
), hits AS (
    SELECT query_id, relevance, rank FROM found JOIN counted USING (number)
)
