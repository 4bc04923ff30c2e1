-- name: dirty_families
-- Families of which rows went since they were last swept, above a number.
SELECT id FROM family WHERE dirty <> 0 AND id > :after ORDER BY id LIMIT :limit;

-- name: family_of
-- The families of some sessions.
SELECT DISTINCT family FROM session WHERE id {in:ids} ORDER BY family;

-- name: swept_now
-- A live session of a family, and how often its values were swept: equal for all its sessions.
SELECT id, swept FROM session WHERE family = :family AND deleted = 0 ORDER BY id LIMIT 1;

-- name: still_swept
-- Whether nobody has begun to sweep since.
SELECT 1 FROM session WHERE id = :id AND swept = :swept AND deleted = 0;

-- name: clean_family
-- Rows that went before a sweep are dealt with; what went since is not.
UPDATE family SET dirty = dirty - :dirty WHERE id = :family;

-- name: rows_per_thread
-- How many checkpoints some threads hold.
SELECT thread, count(*) FROM checkpoint WHERE thread {in:threads} GROUP BY thread;

-- name: writes_per_thread
-- On how many writes they have.
SELECT thread, count(*) FROM pending WHERE thread {in:threads} GROUP BY thread;

-- name: roots_in
-- Every checkpoint of some threads, as far as it refers to something.
SELECT thread, n, metadata, body FROM checkpoint WHERE thread {in:threads};

-- name: roots_after
-- The same of one thread, above a number.
SELECT thread, n, metadata, body FROM checkpoint WHERE thread = :thread AND n > :n
ORDER BY n LIMIT :limit;

-- name: writes_in
-- Every write on the checkpoints of some threads.
SELECT thread, n, w, body FROM pending WHERE thread {in:threads};

-- name: writes_after
-- The same of one thread, after a write.
SELECT thread, n, w, body FROM pending WHERE thread = :thread AND (n, w) > (:n, :w)
ORDER BY n, w LIMIT :limit;

-- name: list_rows
-- What some lists stand on.
SELECT id, base, base_length FROM list WHERE id {in:ids};

-- name: slots_of
-- The values in the slots of some lists, and how long those are that lie in the slots themselves.
SELECT list, i, blob, COALESCE(length(cell), 0) FROM list_item WHERE list {in:lists};

-- name: slots_from
-- The same of the lists of a range, after a slot.
SELECT list, i, blob, COALESCE(length(cell), 0) FROM list_item
WHERE (list, i) > (:list, :i) AND list < :high ORDER BY list, i LIMIT :limit;

-- name: list_numbers_from
-- The lists of a range, above one.
SELECT id FROM list WHERE id > :after AND id < :high ORDER BY id LIMIT :limit;

-- name: blob_sizes_from
-- The values of a range, above one, and how long they are.
SELECT id, length(data) FROM blob WHERE id > :after AND id < :high ORDER BY id LIMIT :limit;

-- name: blob_sizes
-- How long some values are.
SELECT id, length(data) FROM blob WHERE id {in:ids};

-- name: sweep_blobs
-- Remove values that nobody refers to.
DELETE FROM blob WHERE id {in:ids};

-- name: sweep_slots
-- Remove slots that nobody refers to.
DELETE FROM list_item WHERE list = :list AND i >= :start AND i < :stop;

-- name: sweep_lists
-- Remove lists that nobody refers to.
DELETE FROM list WHERE id {in:ids};

-- name: trim_list
-- Remove the end of a list, from the first slot on that nobody refers to, all at once: the first
-- place that is free is written again.
DELETE FROM list_item WHERE list = :list AND i >= :start;

-- name: notes_of
-- What metadata is noted to be used in some threads.
SELECT thread, metadata FROM metadata_thread WHERE thread {in:threads};

-- name: sweep_notes
-- Forget that some metadata is used in a thread, unless a checkpoint has it that was not there when
-- this was found: a newer one, or one that came with detaching.
DELETE FROM metadata_thread WHERE thread = :thread AND metadata {in:metadata}
AND NOT EXISTS (
    SELECT 1 FROM checkpoint c WHERE c.thread = metadata_thread.thread AND c.n >= :since
    AND c.metadata = metadata_thread.metadata
)
AND NOT EXISTS (
    SELECT 1 FROM checkpoint c WHERE c.thread = metadata_thread.thread AND c.n < 0
    AND c.metadata = metadata_thread.metadata
);

-- name: unused_metadata
-- Metadata above a number that no thread uses.
SELECT m.id FROM metadata m WHERE m.id > :after
AND NOT EXISTS (SELECT 1 FROM metadata_thread t WHERE t.metadata = m.id) ORDER BY m.id LIMIT :limit;

-- name: sweep_metadata
-- Remove metadata that no thread uses; what it was.
DELETE FROM metadata WHERE id {in:ids}
AND NOT EXISTS (SELECT 1 FROM metadata_thread t WHERE t.metadata = metadata.id)
RETURNING id, body;
