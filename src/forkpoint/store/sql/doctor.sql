-- name: next_family
-- The family with the lowest number above one, by whatever is left of it: sessions, its own row,
-- or values. The last three are numbers of values, with the family in front.
SELECT (SELECT min(family) FROM session WHERE family > :after),
    (SELECT min(id) FROM family WHERE id > :after),
    (SELECT min(id) FROM blob WHERE id >= :low),
    (SELECT min(id) FROM list WHERE id >= :low),
    (SELECT min(list) FROM list_item WHERE list >= :low);

-- name: count_sessions
-- How many sessions there are, deleted ones included.
SELECT count(*) FROM session WHERE id > 0;

-- name: family_row
-- The counter of a family, and whether it waits for collection.
SELECT next, dirty FROM family WHERE id = :family;

-- name: family_sessions
-- Every session of a family, deleted ones included.
SELECT id, name, deleted, tick, depth, root, parent, base, base_thread, base_n, base_cut, base_shown
FROM session WHERE family = :family ORDER BY id;

-- name: family_threads
-- Every namespace that a session of a family has rows in, or had.
SELECT t.id, t.session, t.namespace, t.head FROM session s JOIN thread t ON t.session = s.id
WHERE s.family = :family ORDER BY t.session, t.id;

-- name: session_standing
-- Where a session stands in its lineage, by number.
SELECT depth, root, parent, family FROM session WHERE id = :id;

-- name: rows_from
-- The rows of a thread above a number, oldest first.
SELECT thread, n, cid, lane, parent, parent_thread, root, hidden, step, turn, metadata, size, body
FROM checkpoint WHERE thread = :thread AND n > :after ORDER BY n LIMIT :limit;

-- name: pending_from
-- The writes on the rows of a thread, after one of them.
SELECT n, w, task, body FROM pending WHERE thread = :thread AND (n, w) > (:n, :w)
ORDER BY n, w LIMIT :limit;

-- name: early_from
-- The writes that wait in a thread, after one of them.
SELECT cid, w, task, body FROM early WHERE thread = :thread AND (cid, w) > (:cid, :w)
ORDER BY cid, w LIMIT :limit;

-- name: noted_metadata
-- What metadata is noted to be used in a thread.
SELECT metadata FROM metadata_thread WHERE thread = :thread;

-- name: known_metadata
-- Which of some metadata there are.
SELECT id FROM metadata WHERE id {in:ids};

-- name: session_labels
-- Every label of a session, those taken off included.
SELECT name, cid, tick, gone FROM label WHERE session = :session ORDER BY name, tick;

-- name: held_in_family
-- Whether any session of a family has a checkpoint of this id in its root namespace.
SELECT 1 FROM checkpoint c JOIN thread t ON t.id = c.thread JOIN session s ON s.id = t.session
WHERE c.cid = :cid AND t.namespace = '' AND s.family = :family LIMIT 1;

-- name: lists_from
-- The lists of a family above a number.
SELECT id, base, base_length FROM list WHERE id > :after AND id < :high ORDER BY id LIMIT :limit;

-- name: items_from
-- The slots of a family's lists, after one of them.
SELECT list, i, blob, length(cell) FROM list_item WHERE (list, i) > (:list, :i) AND list < :high
ORDER BY list, i LIMIT :limit;

-- name: blobs_from
-- The values of a family above a number, with what they should be.
SELECT id, digest, data FROM blob WHERE id > :after AND id < :high ORDER BY id LIMIT :limit;

-- name: threads_from
-- Namespaces above a number; the session is null where there is none.
SELECT t.id, t.session, s.id FROM thread t LEFT JOIN session s ON s.id = t.session
WHERE t.id > :after ORDER BY t.id LIMIT :limit;

-- name: checkpoint_threads_from
-- Threads that checkpoints name, above a number; the second number is null where there is none.
WITH RECURSIVE chain (thread) AS (
    SELECT (SELECT min(thread) FROM checkpoint WHERE thread > :after)
    UNION ALL
    SELECT (SELECT min(c.thread) FROM checkpoint c WHERE c.thread > chain.thread)
    FROM chain WHERE chain.thread IS NOT NULL
)
SELECT chain.thread, t.id FROM chain LEFT JOIN thread t ON t.id = chain.thread
WHERE chain.thread IS NOT NULL LIMIT :limit;

-- name: pending_threads_from
-- Threads that writes name, above a number; the second number is null where there is none.
WITH RECURSIVE chain (thread) AS (
    SELECT (SELECT min(thread) FROM pending WHERE thread > :after)
    UNION ALL
    SELECT (SELECT min(p.thread) FROM pending p WHERE p.thread > chain.thread)
    FROM chain WHERE chain.thread IS NOT NULL
)
SELECT chain.thread, t.id FROM chain LEFT JOIN thread t ON t.id = chain.thread
WHERE chain.thread IS NOT NULL LIMIT :limit;

-- name: early_threads_from
-- Threads that waiting writes name, above a number; the second number is null where there is none.
WITH RECURSIVE chain (thread) AS (
    SELECT (SELECT min(thread) FROM early WHERE thread > :after)
    UNION ALL
    SELECT (SELECT min(e.thread) FROM early e WHERE e.thread > chain.thread)
    FROM chain WHERE chain.thread IS NOT NULL
)
SELECT chain.thread, t.id FROM chain LEFT JOIN thread t ON t.id = chain.thread
WHERE chain.thread IS NOT NULL LIMIT :limit;

-- name: noted_threads_from
-- Threads that metadata is noted for, above a number; the second number is null where there is none.
WITH RECURSIVE chain (thread) AS (
    SELECT (SELECT min(thread) FROM metadata_thread WHERE thread > :after)
    UNION ALL
    SELECT (SELECT min(m.thread) FROM metadata_thread m WHERE m.thread > chain.thread)
    FROM chain WHERE chain.thread IS NOT NULL
)
SELECT chain.thread, t.id FROM chain LEFT JOIN thread t ON t.id = chain.thread
WHERE chain.thread IS NOT NULL LIMIT :limit;

-- name: labelled_sessions_from
-- Sessions that labels name, above a number; the second number is null where there is none.
WITH RECURSIVE chain (session) AS (
    SELECT (SELECT min(session) FROM label WHERE session > :after)
    UNION ALL
    SELECT (SELECT min(l.session) FROM label l WHERE l.session > chain.session)
    FROM chain WHERE chain.session IS NOT NULL
)
SELECT chain.session, s.id FROM chain LEFT JOIN session s ON s.id = chain.session
WHERE chain.session IS NOT NULL LIMIT :limit;

-- name: metadata_from
-- Constant metadata above a number.
SELECT id, digest, body FROM metadata WHERE id > :after ORDER BY id LIMIT :limit;

-- name: metadata_having
-- Which of some metadata have an entry in the index.
SELECT metadata FROM metadata_item
WHERE name = :name AND value = :value AND metadata {in:metadata};

-- name: metadata_items_from
-- Entries of the index, after one of them, each with the metadata that it says it is of.
SELECT i.name, i.value, i.metadata, m.body
FROM metadata_item i LEFT JOIN metadata m ON m.id = i.metadata
WHERE (i.name, i.value, i.metadata) > (:name, :value, :metadata)
ORDER BY i.name, i.value, i.metadata LIMIT :limit;

-- name: newest_write
-- The newest write on the rows of a thread.
SELECT max(w) FROM pending WHERE thread = :thread;

-- name: newest_early
-- The newest write that waits in a thread.
SELECT max(w) FROM early WHERE thread = :thread;

-- name: newest_hiding
-- When rows of a thread were last taken out of view.
SELECT max(hidden) FROM checkpoint WHERE thread = :thread;

-- name: newest_label
-- When labels of a session were last given or taken off.
SELECT max(CASE WHEN gone > tick THEN gone ELSE tick END) FROM label WHERE session = :session;

-- name: widest_cut
-- The highest tick of a session that a fork of it knows.
SELECT max(base_cut) FROM session WHERE base = :session;

-- name: raise_tick
-- Give no number of a session twice.
UPDATE session SET tick = :tick WHERE id = :id AND tick < :tick;

-- name: highest_numbers
-- The highest numbers of values in a family's range.
SELECT (SELECT max(id) FROM blob WHERE id >= :low AND id < :high),
    (SELECT max(id) FROM list WHERE id >= :low AND id < :high),
    (SELECT max(list) FROM list_item WHERE list >= :low AND list < :high);

-- name: raise_counter
-- Give no number of a family's values twice.
UPDATE family SET next = :next WHERE id = :family AND next < :next;

-- name: restore_family
-- A family's counter anew, to be collected.
INSERT INTO family (id, next, dirty) VALUES (:family, :next, 1) ON CONFLICT DO NOTHING;

-- name: set_dirty
-- Have a family collected.
UPDATE family SET dirty = dirty + 1 WHERE id = :family;

-- name: live_member
-- Whether a family has a live session.
SELECT 1 FROM session WHERE family = :family AND deleted = 0 LIMIT 1;

-- name: set_standing
-- Correct where a session says it stands in its lineage.
UPDATE session SET depth = :depth, root = :root WHERE id = :id;

-- name: delete_noted_metadata
-- Forget what metadata a thread uses.
DELETE FROM metadata_thread WHERE thread = :thread;

-- name: delete_metadata_item
-- Forget an entry of constant metadata.
DELETE FROM metadata_item WHERE name = :name AND value = :value AND metadata = :metadata;

-- name: restore_metadata_item
-- An entry of constant metadata, unless it is there.
INSERT INTO metadata_item (name, value, metadata) VALUES (:name, :value, :metadata)
ON CONFLICT DO NOTHING;

-- name: metadata_in_use
-- What metadata the rows of a thread have.
SELECT DISTINCT metadata FROM checkpoint WHERE thread = :thread;

-- name: oldest_rows
-- The first rows of a thread, to be removed piece by piece.
SELECT n FROM checkpoint WHERE thread = :thread ORDER BY n LIMIT :limit;

-- name: oldest_writes
-- The first rows that writes of a thread lie on, to be removed piece by piece.
SELECT DISTINCT n FROM pending WHERE thread = :thread ORDER BY n LIMIT :limit;

-- name: forget_values
-- Have every process forget what it knows of a family's values.
UPDATE session SET swept = swept + 1, tick = tick + 1 WHERE family = :family AND deleted = 0;
