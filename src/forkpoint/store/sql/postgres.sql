-- name: take_ticks_at
-- The ticks that a batch takes: of sessions that are as they were known to be. {settings} are functions
-- that set what holds for this transaction only; they run before a row is waited for. No index but the
-- primary key is to be used, so the condition on `deleted` is one that an index does not know.
UPDATE session s SET tick = g.next, touched = g.touched
FROM {settings}, unnest(:id, :tick, :next, :touched) g (id, tick, next, touched)
WHERE s.id = g.id AND s.tick = g.tick AND s.deleted + 0 = 0 RETURNING s.id;

-- name: move_heads
-- The heads that a batch moves.
UPDATE thread t SET head = g.n FROM unnest(:thread, :n) g (thread, n) WHERE t.id = g.thread;

-- name: next_numbers
-- Row numbers for a batch to use.
SELECT nextval(CAST(:sequence AS regclass)) FROM generate_series(1, :count);

-- name: layout
-- Which layout the schema has, if it has one.
SELECT value FROM setting WHERE name = 'layout';

-- name: record_layout
-- Note which layout the schema has.
INSERT INTO setting (name, value) VALUES ('layout', :value)
ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: leave_mark
-- Leave a mark with a transaction that has written something, and forget those of transactions
-- whose outcome is known.
WITH forgotten AS (
    DELETE FROM setting
    WHERE name = ANY (:settled) AND pg_current_xact_id_if_assigned() IS NOT NULL
)
INSERT INTO setting (name, value) SELECT CAST(:mark AS TEXT), CAST(:value AS BYTEA)
WHERE pg_current_xact_id_if_assigned() IS NOT NULL;

-- name: find_mark
-- No row touched when a mark is there. Waits for a transaction that may be leaving it.
INSERT INTO setting (name, value) VALUES (:mark, :value) ON CONFLICT DO NOTHING;

-- name: forget_marks
-- Forget old marks of writers that were killed.
DELETE FROM setting WHERE starts_with(name, 'commit ') AND value < :before;

-- name: is_checkpoint_there
-- Whether a checkpoint is where a draft wrote it.
SELECT 1 FROM checkpoint WHERE thread = :thread AND n = :n AND cid = :cid;

-- name: are_writes_there
-- Whether writes are where a draft wrote them.
SELECT 1 FROM pending WHERE thread = :thread AND n = :n AND w = :w AND task = :task AND body = :body;
