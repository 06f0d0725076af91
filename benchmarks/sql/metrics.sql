-- Follows each of the others: `judged` has what is relevant, `hits` what of it the run has, ranked.
, relevant AS (
    SELECT query_id, relevance,
        row_number() OVER (PARTITION BY query_id ORDER BY relevance DESC) AS ideal
    FROM judged
), ideals AS (
    SELECT query_id, count(*) AS relevant,
        sum(relevance / log2(ideal + 1)) FILTER (ideal <= 10) AS dcg
    FROM relevant GROUP BY query_id
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY query_id ORDER BY rank) AS place FROM hits
), queries AS (
    SELECT query_id,
        coalesce(sum(relevance / log2(rank + 1)) FILTER (rank <= 10), 0) AS dcg,
        sum(place / rank) AS precisions,
        1 / min(rank) AS rr,
        count(*) FILTER (rank <= 10) AS top
    FROM placed GROUP BY query_id
)
SELECT sum(queries.dcg / ideals.dcg) / judged, sum(precisions / relevant) / judged,
    sum(rr) / judged, sum(top / 10) / judged, sum(top / relevant) / judged
FROM queries JOIN ideals USING (query_id),
    (SELECT count(DISTINCT query_id) AS judged FROM qrels)
GROUP BY judged
