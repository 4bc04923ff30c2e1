-- name: hide_rows
-- Take some checkpoints out of their own session's view.
UPDATE checkpoint SET hidden = :tick WHERE thread = :thread AND n {in:ns} AND hidden = 0;

-- name: hide_all_but
-- Take every checkpoint of a thread but one out of its own session's view.
UPDATE checkpoint SET hidden = :tick WHERE thread = :thread AND n <> :n AND hidden = 0;

-- name: hide_holding
-- Take the checkpoints of a thread that carry some metadata out of its own session's view; what was
-- adopted still counts as another session's.
UPDATE checkpoint SET hidden = :tick
WHERE thread = :thread AND hidden = 0 AND size >= 0 AND metadata {in:metadata};

-- name: soil_family
-- Note that rows of a family went, so that its values are collected.
UPDATE family SET dirty = dirty + :rows WHERE id = :family;

-- name: remove_rows
-- Remove some rows of a thread for good; the length of each.
DELETE FROM checkpoint WHERE thread = :thread AND n {in:ns} RETURNING length(body);

-- name: remove_writes
-- Remove the writes on some rows of a thread for good; the length of each.
DELETE FROM pending WHERE thread = :thread AND n {in:ns} RETURNING length(body);

-- name: hollow_rows
-- Leave nothing of some rows but their place.
UPDATE checkpoint SET body = :body, metadata = :metadata WHERE thread = :thread AND n {in:ns};

-- name: remove_threads_rows
-- Remove every row of some threads for good; the length of each.
DELETE FROM checkpoint WHERE thread {in:threads} RETURNING length(body);

-- name: remove_threads_writes
-- Remove every write on the rows of some threads for good; the length of each.
DELETE FROM pending WHERE thread {in:threads} RETURNING length(body);

-- name: remove_waiting_writes
-- Remove the writes of some threads that wait for their checkpoint; the length of each.
DELETE FROM early WHERE thread {in:threads} RETURNING length(body);

-- name: remove_late_writes
-- Remove writes that were made after the last fork of a deleted session was taken.
DELETE FROM pending WHERE thread {in:threads} AND w >= :cut RETURNING length(body);

-- name: remove_late_waiting
-- The same of those that wait for their checkpoint.
DELETE FROM early WHERE thread {in:threads} AND w >= :cut RETURNING length(body);

-- name: last_cut
-- Up to which tick forks see a session.
SELECT max(base_cut) FROM session WHERE base = :session;

-- name: holds_rows
-- Whether a session has a row left.
SELECT 1 FROM thread t JOIN checkpoint c ON c.thread = t.id WHERE t.session = :session LIMIT 1;

-- name: weigh_rows
-- How many some rows of a thread are, and how long their bodies.
SELECT count(*), COALESCE(sum(length(body)), 0) FROM checkpoint WHERE thread = :thread AND n {in:ns};

-- name: weigh_writes
-- The same of the writes on them.
SELECT count(*), COALESCE(sum(length(body)), 0) FROM pending WHERE thread = :thread AND n {in:ns};

-- name: forget_notes
-- Forget what metadata some threads use.
DELETE FROM metadata_thread WHERE thread {in:threads};

-- name: forget_threads
-- Forget the namespaces of a session that holds no rows.
DELETE FROM thread WHERE session = :session;
