-- name: insert_checkpoint
-- One checkpoint.
INSERT INTO checkpoint (thread, n, cid, lane, parent, parent_thread, root, step, turn, metadata, size, body)
VALUES (:thread, :n, :cid, :lane, :parent, :parent_thread, :root, :step, :turn, :metadata, :size,
    :body);

-- name: find_checkpoint
-- A checkpoint of one thread by its id.
SELECT n, lane, hidden, turn FROM checkpoint WHERE cid = :cid AND thread = :thread;

-- name: row_of
-- Where a checkpoint of a thread is, hidden or not.
SELECT n FROM checkpoint WHERE cid = :cid AND thread = :thread;

-- name: holders_of_checkpoint
-- The threads, of some, that hold a checkpoint of this id.
SELECT thread, n, lane, hidden, root FROM checkpoint WHERE cid = :cid AND thread {in:threads};

-- name: row
-- One checkpoint by its place.
SELECT thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn, metadata, size, body
FROM checkpoint WHERE thread = :thread AND n = :n;

-- name: place
-- Where a row hangs: its lane, and its parent.
SELECT lane, parent, parent_thread, hidden FROM checkpoint WHERE thread = :thread AND n = :n;

-- name: page
-- The rows of a thread below a number, newest first.
SELECT thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn, metadata, size, body
FROM checkpoint WHERE thread = :thread AND n < :below AND hidden = 0 ORDER BY n DESC LIMIT :limit;

-- name: lane_page
-- The rows of one lane up to a number, newest first.
SELECT thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn, metadata, size, body
FROM checkpoint WHERE thread = :thread AND lane = :lane AND n <= :up_to AND n >= :lane
ORDER BY n DESC LIMIT :limit;

-- name: sub_page
-- Rows of a sub-namespace that belong to root checkpoints up to a number, newest first.
SELECT thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn, metadata, size, body
FROM checkpoint WHERE thread = :thread AND n < :below AND root <= :root
ORDER BY n DESC LIMIT :limit;

-- name: identity
-- The id of a row, and whether it is hidden.
SELECT cid, hidden FROM checkpoint WHERE thread = :thread AND n = :n;

-- name: next_in_lane
-- The row that follows another in its lane.
SELECT n, parent, hidden FROM checkpoint WHERE thread = :thread AND n > :n AND lane = :lane
ORDER BY n LIMIT 1;

-- name: branch_at
-- A row that branches off from another in its own thread.
SELECT n FROM checkpoint WHERE thread = :thread AND parent >= :n AND parent <= :n AND n = lane AND parent_thread IS NULL
AND hidden = 0 LIMIT 1;

-- name: branches_between
-- Rows that branch off from some rows of their own thread.
SELECT parent, count(*) FROM checkpoint
WHERE thread = :thread AND parent >= :low AND parent <= :high AND n = lane AND parent_thread IS NULL
AND hidden = 0
GROUP BY parent;

-- name: foreign_children
-- Rows in other sessions whose parent lies here (first rows of forks, and branches inside forks).
SELECT thread, n, parent FROM checkpoint
WHERE parent_thread = :thread AND parent >= :low AND parent <= :high AND hidden = 0;

-- name: first_row
-- The oldest row of a thread.
SELECT n FROM checkpoint WHERE thread = :thread ORDER BY n LIMIT 1;

-- name: newest
-- The newest row of a thread, hidden or not.
SELECT n FROM checkpoint WHERE thread = :thread ORDER BY n DESC LIMIT 1;

-- name: set_root
-- Name the root row of a sub-namespace row, once it is here.
UPDATE checkpoint SET root = :root WHERE thread = :thread AND n = :n;

-- name: newest_visible
-- The newest row of a thread that is still in its own session's view.
SELECT n FROM checkpoint WHERE thread = :thread AND hidden = 0 ORDER BY n DESC LIMIT 1;

-- name: count_visible
-- How many checkpoints of a thread are in its own session's view.
SELECT count(*) FROM checkpoint WHERE thread = :thread AND hidden = 0;

-- name: matching_metadata
-- Numbers of the metadata that hold an entry.
SELECT metadata FROM metadata_item WHERE name = :name AND value = :value;

-- name: note_metadata_thread
-- Remember that some metadata is used in a thread.
INSERT INTO metadata_thread (metadata, thread) VALUES (:metadata, :thread) ON CONFLICT DO NOTHING;

-- name: copy_metadata_threads
-- Some metadata is used in a copy of a thread too.
INSERT INTO metadata_thread (metadata, thread)
SELECT DISTINCT metadata, CAST(:copy AS BIGINT) FROM checkpoint WHERE thread = :thread;

-- name: threads_of_metadata
-- Threads of live sessions that use some metadata.
SELECT DISTINCT t.session, t.id FROM metadata_thread m JOIN thread t ON t.id = m.thread
JOIN session s ON s.id = t.session
WHERE m.metadata {in:metadata} AND s.deleted + 0 = 0;

-- name: rows_holding
-- Visible checkpoints of one thread that carry some metadata, inherited ones that were adopted not.
SELECT n FROM checkpoint
WHERE thread = :thread AND hidden = 0 AND size >= 0 AND metadata {in:metadata};

-- name: live_sessions
-- Live sessions below a number, newest first.
SELECT id, name, family FROM session WHERE deleted = 0 AND id < :below
ORDER BY id DESC LIMIT :limit;

-- name: hide
-- Take a checkpoint out of its own session's view.
UPDATE checkpoint SET hidden = :tick WHERE thread = :thread AND n = :n AND hidden = 0;

-- name: places
-- Every row of a thread: what clean-up decides on.
SELECT n, lane, parent, parent_thread, root, hidden FROM checkpoint WHERE thread = :thread ORDER BY n;

-- name: delete_checkpoint
-- Remove a row for good.
DELETE FROM checkpoint WHERE thread = :thread AND n = :n;

-- name: delete_pending_of
-- Remove the writes on a row for good.
DELETE FROM pending WHERE thread = :thread AND n = :n;

-- name: delete_all_checkpoints
-- Remove every row of a thread.
DELETE FROM checkpoint WHERE thread = :thread;

-- name: delete_all_pending
-- Remove every write of a thread.
DELETE FROM pending WHERE thread = :thread;

-- name: delete_all_early
-- Remove writes that still wait for their checkpoint.
DELETE FROM early WHERE thread = :thread;

-- name: insert_pending
-- The writes of one call.
INSERT INTO pending (thread, n, w, task, body) VALUES (:thread, :n, :w, :task, :body);

-- name: insert_early
-- The writes of one call whose checkpoint is not here yet.
INSERT INTO early (thread, cid, w, task, body) VALUES (:thread, :cid, :w, :task, :body);

-- name: early_writes
-- Writes that wait for a checkpoint.
SELECT w, task, body FROM early WHERE thread = :thread AND cid = :cid ORDER BY w;

-- name: early_in
-- Writes that wait, or lie on what is inherited, in some threads.
SELECT thread, cid, w, task, body FROM early WHERE thread {in:threads} ORDER BY thread, cid, w;

-- name: waiting
-- Whether writes wait in a thread at all.
SELECT 1 FROM early WHERE thread = :thread LIMIT 1;

-- name: delete_early
-- Writes that wait no longer.
DELETE FROM early WHERE thread = :thread AND cid = :cid;

-- name: pending_of
-- The writes on one row, in order of writing, up to a tick.
SELECT w, task, body FROM pending WHERE thread = :thread AND n = :n AND w < :cut ORDER BY w;

-- name: pending_between
-- The writes on a range of rows, in order of writing, up to a tick.
SELECT n, w, task, body FROM pending
WHERE thread = :thread AND n >= :low AND n <= :high AND w < :cut ORDER BY n, w;

-- name: copy_checkpoints
-- The rows of a thread again in another, at the same numbers.
INSERT INTO checkpoint (thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn,
    metadata, size, body)
SELECT CAST(:copy AS BIGINT), n, cid, lane, parent, parent_thread, root, hidden, step, turn, metadata,
    CASE WHEN size < 0 THEN size ELSE 0 END, body
FROM checkpoint WHERE thread = :thread;

-- name: copy_pending
-- The writes of a thread again in another.
INSERT INTO pending (thread, n, w, task, body)
SELECT CAST(:copy AS BIGINT), n, w, task, body FROM pending WHERE thread = :thread;

-- name: copy_early
-- The writes of a thread that still wait, again in another.
INSERT INTO early (thread, cid, w, task, body)
SELECT CAST(:copy AS BIGINT), cid, w, task, body FROM early WHERE thread = :thread;

-- name: turns_between
-- Bodies of the rows that began some turns.
SELECT n, body FROM checkpoint WHERE thread = :thread AND n {in:turns};
