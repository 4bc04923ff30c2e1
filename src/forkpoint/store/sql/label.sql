-- name: own_label
-- A label that a session has given and not taken off.
SELECT cid, tick, created FROM label
WHERE session = :session AND name = :name AND gone = 0 AND tick >= 0;

-- name: labels_named
-- Labels of one name that some sessions have, or had.
SELECT session, name, cid, tick, gone, created FROM label WHERE name = :name AND session {in:sessions};

-- name: labels_of
-- Every label that some sessions have, or had.
SELECT session, name, cid, tick, gone, created FROM label WHERE session {in:sessions};

-- name: insert_label
-- A name for a checkpoint.
INSERT INTO label (session, name, cid, tick, created)
VALUES (:session, :name, :cid, :tick, :created);

-- name: end_label
-- Take a name off; forks that were taken before still see it.
UPDATE label SET gone = :gone WHERE session = :session AND name = :name AND tick = :tick;

-- name: drop_unseen_labels
-- Forget names that were taken off before any fork was taken that could see them.
DELETE FROM label WHERE session = :session AND gone <> 0 AND NOT EXISTS (
    SELECT 1 FROM session f WHERE f.base = :session AND f.base_cut > label.tick
    AND f.base_cut <= label.gone
);

-- name: copy_labels
-- The labels of a session again in a copy of it.
INSERT INTO label (session, name, cid, tick, created, gone)
SELECT CAST(:copy AS BIGINT), name, cid, tick, created, gone FROM label
WHERE session = :session AND gone = 0;

-- name: drop_lost_labels
-- Forget names of checkpoints that nobody in a family has any more.
DELETE FROM label WHERE session IN (SELECT id FROM session WHERE family = :family) AND NOT EXISTS (
    SELECT 1 FROM checkpoint c JOIN thread t ON t.id = c.thread JOIN session s ON s.id = t.session
    WHERE c.cid = label.cid AND t.namespace = '' AND s.family = :family
);

-- name: delete_labels
-- Forget every label of a session.
DELETE FROM label WHERE session = :session;

-- name: label_at
-- A label by the tick at which it was given.
SELECT cid FROM label WHERE session = :session AND name = :name AND tick = :tick;

-- name: delete_label
-- Forget one label.
DELETE FROM label WHERE session = :session AND name = :name AND tick = :tick;
