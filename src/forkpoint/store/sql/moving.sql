-- name: outline
-- Every row of a thread below a number, oldest first, without its body.
SELECT n, cid, lane, parent, parent_thread, root, hidden, turn FROM checkpoint
WHERE thread = :thread AND n < :below ORDER BY n;

-- name: lane_outline
-- The rows of one lane up to a number, oldest first, without their bodies.
SELECT n, cid, lane, parent, parent_thread, root, hidden, turn FROM checkpoint
WHERE thread = :thread AND lane = :lane AND n >= :lane AND n <= :up_to ORDER BY n;

-- name: row_outline
-- One row without its body.
SELECT n, cid, lane, parent, parent_thread, root, hidden, turn FROM checkpoint
WHERE thread = :thread AND n = :n;

-- name: bodies
-- Bodies of some rows of a thread.
SELECT n, body FROM checkpoint WHERE thread = :thread AND n {in:numbers};

-- name: contents
-- What some rows of a thread hold besides their place.
SELECT n, step, metadata, size, body FROM checkpoint WHERE thread = :thread AND n {in:numbers};

-- name: pending_on
-- The writes on some rows of a thread, in order of writing, up to a tick.
SELECT n, w, task, body FROM pending WHERE thread = :thread AND n {in:numbers} AND w < :cut
ORDER BY n, w;

-- name: insert_moved
-- A row as it was elsewhere: out of view, if it was.
INSERT INTO checkpoint (thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn,
    metadata, size, body)
VALUES (:thread, :n, :cid, :lane, :parent, NULL, :root, :hidden, :step, :turn, :metadata, :size, :body);

-- name: standing_above
-- Every session that stands on this one, directly or not, deleted ones that hold rows included.
WITH RECURSIVE chain (id) AS (
    SELECT id FROM session WHERE base = :id
    UNION ALL
    SELECT s.id FROM chain JOIN session s ON s.base = chain.id
)
SELECT id FROM chain ORDER BY id;

-- name: forks_standing
-- Up to which tick the forks of a session see it, and whether it showed what it inherits then.
SELECT base_cut, base_deep FROM session WHERE base = :id;

-- name: hanging_on
-- Rows in other threads that hang on rows of this one.
SELECT c.thread, c.n, c.parent, t.session FROM checkpoint c
JOIN thread t ON t.id = c.thread WHERE c.parent_thread = :thread;

-- name: rehang
-- Name a row's parent anew.
UPDATE checkpoint SET parent = :parent, parent_thread = :parent_thread
WHERE thread = :thread AND n = :n;

-- name: renumber
-- Give a row another number, and name its relatives by theirs.
UPDATE checkpoint SET n = :number, lane = :lane, parent = :parent, parent_thread = NULL, turn = :turn
WHERE thread = :thread AND n = :n;

-- name: renumber_pending
-- The writes on a row that has another number.
UPDATE pending SET n = :number WHERE thread = :thread AND n = :n;

-- name: own_all
-- Rows that counted as inherited are a session's own.
UPDATE checkpoint SET size = 0 WHERE thread = :thread AND size < 0;

-- name: stand_alone
-- A session stands on nothing any more; where it came from stays.
UPDATE session SET base = NULL, base_thread = NULL, base_n = NULL, base_cut = NULL, base_open = NULL,
    base_shown = 1, base_deep = 1
WHERE id = :id;

-- name: change_shape
-- What a member of a family stands on has changed.
UPDATE family SET shape = shape + :by WHERE id = :family;

-- name: carry_label
-- A label that a session inherits, as a row of its own.
INSERT INTO label (session, name, cid, tick, created, gone)
VALUES (:session, :name, :cid, :tick, :created, :gone);

-- name: origin_words
-- Where a session came from in words, the session that it was taken from, and what was imported of
-- the way on from there.
SELECT origin_session, origin_checkpoint, created, origin_by, origin_reason, origin_run, parent, ancestry
FROM session WHERE id = :id;

-- name: session_to_move
-- What belongs to a session itself.
SELECT created, touched, tick, depth, root, workspace, agent, origin_pending FROM session WHERE id = :id;

-- name: slots_between
-- Items of a list, as they stand in it.
SELECT i, blob, cell FROM list_item WHERE list = :list AND i >= :start AND i < :stop ORDER BY i;

-- name: values_to_move
-- Shared values by number, with their digests.
SELECT id, digest, data FROM blob WHERE id {in:ids};

-- name: begin_import
-- A session that nobody sees yet: it has no name, and counts as deleted. request: a word that only
-- the import knows.
INSERT INTO session (name, family, deleted, created, touched, tick, depth, root, workspace, agent,
    ancestry, origin_session, origin_checkpoint, origin_by, origin_reason, origin_run, origin_pending,
    request)
VALUES ('', 0, :now, :created, :touched, :tick, :depth, :root, :workspace, :agent, :ancestry,
    :origin_session, :origin_checkpoint, :by, :reason, :run, :pending, :request)
RETURNING id;

-- name: go_on_importing
-- An import is still under way; no row when it was given up.
UPDATE session SET deleted = :now WHERE id = :id AND name = '' AND request = :request;

-- name: finish_import
-- A session is there.
UPDATE session SET name = :name, deleted = 0, request = NULL
WHERE id = :id AND name = '' AND request = :request;

-- name: imports_idle
-- Imports that have not gone on since a moment: whoever was at it has died.
SELECT id, family FROM session WHERE name = '' AND deleted <> 0 AND deleted < :before
AND request IS NOT NULL;

-- name: give_up_import
-- Nobody goes on with an import.
UPDATE session SET request = NULL WHERE id = :id AND name = '';
