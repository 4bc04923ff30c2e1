-- name: hold_family
-- Until the transaction ends, nobody else changes who stands on whom in a family.
SELECT {hold_family};

-- name: share_family
-- Until the transaction ends, nobody holds a family; others that share it go on.
SELECT {share_family};

-- name: hold_session
-- Until the transaction ends, nobody else writes to a session.
SELECT tick FROM session WHERE id = :id {hold_row};

-- name: hold_source
-- The same, and what a fork must know of its source; no row when that is no longer live.
SELECT tick, swept, depth, root FROM session WHERE id = :id AND deleted = 0 {hold_row};

-- name: hold_live_session
-- The same for the live session of a name; its number, if there is one.
SELECT id FROM session WHERE name = :name AND deleted = 0 {hold_row};

-- name: live_session
-- The live session of a name.
SELECT id, family, tick, base, swept, touched FROM session WHERE name = :name AND deleted = 0;

-- name: session_and_thread
-- The live session of a name, and its thread for one namespace if it has written there itself.
SELECT s.id, s.family, s.swept, t.id, t.head
FROM session s LEFT JOIN thread t ON t.session = s.id AND t.namespace = :namespace
WHERE s.name = :name AND s.deleted = 0;

-- name: was_deleted
-- When the last session of this name was deleted.
SELECT deleted FROM session WHERE name = :name AND deleted <> 0
ORDER BY deleted DESC LIMIT 1;

-- name: advance_tick
-- Take a number for a checkpoint or a write; no row when the session is no longer live.
UPDATE session SET tick = tick + 1 WHERE id = :id AND deleted = 0
RETURNING tick - 1, touched;

-- name: take_tick_at
-- The same from a session that is as it was known to be; no row touched when it is not.
UPDATE session SET tick = :next, touched = :touched WHERE id = :id AND tick = :tick AND deleted = 0;

-- name: touch
-- Note that a session was written to.
UPDATE session SET touched = :now WHERE id = :id;

-- name: insert_session
-- A session that begins with nothing. Its family is its own.
INSERT INTO session (name, family, created, touched, root) VALUES (:name, 0, :now, :now, :name)
RETURNING id;

-- name: thread_state
-- What a writer must know of a session's thread: its newest row, and whether writes wait in it.
SELECT t.id, (SELECT max(c.n) FROM checkpoint c WHERE c.thread = t.id),
    EXISTS (SELECT 1 FROM early e WHERE e.thread = t.id)
FROM thread t WHERE t.session = :session AND t.namespace = :namespace;

-- name: own_family
-- Second half of insert_session: the family is the row number.
UPDATE session SET family = id WHERE id = :id;

-- name: insert_family
-- Numbers of a family's values begin at one.
INSERT INTO family (id, next) VALUES (:id, 1);

-- name: insert_fork
-- A session that begins at a checkpoint of another.
INSERT INTO session (name, family, swept, created, touched, tick, depth, root, parent, base,
    base_thread, base_n, base_cut, base_open, base_deep, origin_session, origin_checkpoint, origin_by,
    origin_reason, origin_run, origin_pending, request, workspace, agent)
VALUES (:name, :family, :swept, :now, :now, 0, :depth, :root, :parent, :base, :base_thread, :base_n, :base_cut,
    :base_open, :base_deep, :origin_session, :origin_checkpoint, :by, :reason, :run, :pending, :request,
    (SELECT workspace FROM session WHERE id = :parent), (SELECT agent FROM session WHERE id = :parent))
RETURNING id;

-- name: copy_session
-- A second session with the same past.
INSERT INTO session (name, family, swept, created, touched, tick, depth, root, parent, base,
    base_thread, base_n, base_cut, base_open, base_shown, base_deep, origin_session, origin_checkpoint,
    origin_by, origin_reason, origin_run, origin_pending, workspace, agent, ancestry)
SELECT CAST(:name AS TEXT), family, swept, CAST(:now AS BIGINT), CAST(:now AS BIGINT), tick, depth,
    CASE WHEN origin_session IS NULL THEN CAST(:name AS TEXT) ELSE root END,
    parent, base, base_thread, base_n, base_cut, base_open, base_shown, base_deep, origin_session,
    origin_checkpoint, origin_by, origin_reason, origin_run, origin_pending, workspace, agent, ancestry
FROM session WHERE id = :id
RETURNING id;

-- name: fork_by_request
-- The fork that a request made.
SELECT name, origin_session, origin_checkpoint, created, origin_by, origin_reason, origin_run,
    origin_pending, base_open
FROM session WHERE request = :request AND deleted = 0;

-- name: origin
-- Where a session came from, in words.
SELECT origin_session, origin_checkpoint, created, origin_by, origin_reason, origin_run
FROM session WHERE id = :id;

-- name: base_of
-- What a fork stands on: its source, the row, the cut, and whether the row was a live head.
SELECT base, base_thread, base_n, base_cut, base_open FROM session WHERE id = :id;

-- name: bases_of
-- What a fork stands on, what that stands on, and so on to the root, nearest first.
WITH RECURSIVE chain (level, id, base, base_thread, base_n, base_cut, base_open, base_deep) AS (
    SELECT 0, id, base, base_thread, base_n, base_cut, base_open, base_deep
    FROM session WHERE id = :id
    UNION ALL
    SELECT chain.level + 1, s.id, s.base, s.base_thread, s.base_n, s.base_cut, s.base_open, s.base_deep
    FROM chain JOIN session s ON s.id = chain.base
)
SELECT id, base, base_thread, base_n, base_cut, base_open, base_deep FROM chain
WHERE base IS NOT NULL
ORDER BY level;

-- name: summary
-- A session as a reader of a list sees it.
SELECT s.id, s.name, s.depth, s.root, s.created, s.touched, s.origin_session, s.origin_checkpoint,
    s.origin_by, s.origin_reason, s.origin_run, c.cid,
    (SELECT count(*) FROM session f WHERE f.parent = s.id AND f.deleted = 0), s.workspace, s.agent
FROM session s JOIN thread t ON t.session = s.id AND t.namespace = ''
JOIN checkpoint c ON c.thread = t.id AND c.n = t.head
WHERE s.name = :name AND s.deleted = 0;

-- name: summaries
-- A page of live sessions with checkpoints, last written first.
SELECT s.id, s.name, s.depth, s.root, s.created, s.touched, s.origin_session, s.origin_checkpoint,
    s.origin_by, s.origin_reason, s.origin_run, c.cid,
    (SELECT count(*) FROM session f WHERE f.parent = s.id AND f.deleted = 0), s.workspace, s.agent
FROM session s JOIN thread t ON t.session = s.id AND t.namespace = ''
JOIN checkpoint c ON c.thread = t.id AND c.n = t.head
WHERE s.deleted = 0 AND (s.touched, s.id) < (:touched, :id)
ORDER BY s.touched DESC, s.id DESC LIMIT :limit;

-- name: summaries_of_workspace
-- The same of one workspace.
SELECT s.id, s.name, s.depth, s.root, s.created, s.touched, s.origin_session, s.origin_checkpoint,
    s.origin_by, s.origin_reason, s.origin_run, c.cid,
    (SELECT count(*) FROM session f WHERE f.parent = s.id AND f.deleted = 0), s.workspace, s.agent
FROM session s JOIN thread t ON t.session = s.id AND t.namespace = ''
JOIN checkpoint c ON c.thread = t.id AND c.n = t.head
WHERE s.deleted = 0 AND s.workspace = :workspace
    AND (s.touched, s.id) < (:touched, :id)
ORDER BY s.touched DESC, s.id DESC LIMIT :limit;

-- name: summaries_of_agent
-- The same of one agent.
SELECT s.id, s.name, s.depth, s.root, s.created, s.touched, s.origin_session, s.origin_checkpoint,
    s.origin_by, s.origin_reason, s.origin_run, c.cid,
    (SELECT count(*) FROM session f WHERE f.parent = s.id AND f.deleted = 0), s.workspace, s.agent
FROM session s JOIN thread t ON t.session = s.id AND t.namespace = ''
JOIN checkpoint c ON c.thread = t.id AND c.n = t.head
WHERE s.deleted = 0 AND s.agent = :agent
    AND (s.touched, s.id) < (:touched, :id)
ORDER BY s.touched DESC, s.id DESC LIMIT :limit;

-- name: summaries_of_both
-- The same of one agent in one workspace.
SELECT s.id, s.name, s.depth, s.root, s.created, s.touched, s.origin_session, s.origin_checkpoint,
    s.origin_by, s.origin_reason, s.origin_run, c.cid,
    (SELECT count(*) FROM session f WHERE f.parent = s.id AND f.deleted = 0), s.workspace, s.agent
FROM session s JOIN thread t ON t.session = s.id AND t.namespace = ''
JOIN checkpoint c ON c.thread = t.id AND c.n = t.head
WHERE s.deleted = 0 AND s.workspace = :workspace AND s.agent = :agent
    AND (s.touched, s.id) < (:touched, :id)
ORDER BY s.touched DESC, s.id DESC LIMIT :limit;

-- name: forks
-- The live sessions forked from a session, oldest first.
SELECT s.id, s.name, s.depth, s.root, s.created, s.touched, s.origin_session, s.origin_checkpoint,
    s.origin_by, s.origin_reason, s.origin_run, c.cid,
    (SELECT count(*) FROM session f WHERE f.parent = s.id AND f.deleted = 0), s.workspace, s.agent
FROM session s JOIN thread t ON t.session = s.id AND t.namespace = ''
JOIN checkpoint c ON c.thread = t.id AND c.n = t.head
WHERE s.parent = :id AND s.deleted = 0 ORDER BY s.id;

-- name: forks_at
-- How many live sessions were forked from each of some rows.
SELECT base_n, count(*) FROM session
WHERE base = :session AND base_thread = :thread AND base_n >= :low AND base_n <= :high AND deleted = 0
GROUP BY base_n;

-- name: children
-- Every session that stands on this one, deleted ones that still hold rows included.
SELECT id, base_thread, base_n, base_cut, base_open FROM session WHERE base = :id;

-- name: mark_deleted
-- Take a session out of sight; the row stays as a tombstone against late writers.
UPDATE session SET deleted = :now, request = NULL WHERE id = :id AND deleted = 0;

-- name: detach_base
-- A tombstone that holds no rows any more stands on nothing.
UPDATE session SET base = NULL WHERE id = :id;

-- name: session_row
-- State of a session by number.
SELECT deleted, base, family, tick FROM session WHERE id = :id;

-- name: family_members
-- Whether any session of a family still holds rows.
SELECT 1 FROM thread t JOIN session s ON s.id = t.session WHERE s.family = :family LIMIT 1;

-- name: standing_now
-- The shape of a session's family (a detached fork changes it), and whether the session still shows
-- what it inherits (pruning it ends that).
SELECT COALESCE(f.shape, 0), s.base_shown FROM session s LEFT JOIN family f ON f.id = s.family
WHERE s.id = :id;

-- name: hide_base
-- Stop showing what a fork inherits; it still stands on it.
UPDATE session SET base_shown = 0 WHERE id = :id;

-- name: threads
-- The namespaces a session has written in.
SELECT id, namespace, head FROM thread WHERE session = :session;

-- name: thread_owner
-- The session, namespace and head of a thread.
SELECT session, namespace, head FROM thread WHERE id = :id;

-- name: thread_of
-- A session's thread for one namespace.
SELECT id, head FROM thread WHERE session = :session AND namespace = :namespace;

-- name: insert_thread
-- A namespace that a session writes in for the first time.
INSERT INTO thread (session, namespace, head) VALUES (:session, :namespace, NULL) RETURNING id;

-- name: move_head
-- Make a checkpoint the current one.
UPDATE thread SET head = :n WHERE id = :thread;

-- name: delete_thread_row
-- Forget a namespace that holds no rows.
DELETE FROM thread WHERE id = :thread;

-- name: nearest_forks
-- The live sessions that come of a session without another live one between them, oldest first.
WITH RECURSIVE chain (id, deleted) AS (
    SELECT id, deleted FROM session WHERE parent = :id
    UNION
    SELECT s.id, s.deleted FROM chain JOIN session s ON s.parent = chain.id WHERE chain.deleted <> 0
)
SELECT s.name FROM chain JOIN session s ON s.id = chain.id WHERE s.deleted = 0 ORDER BY s.id;

-- name: descendants
-- Every live session that comes of a session, the deepest first.
WITH RECURSIVE chain (id) AS (
    SELECT id FROM session WHERE parent = :id
    UNION
    SELECT s.id FROM chain JOIN session s ON s.parent = chain.id
)
SELECT s.name, s.id FROM chain JOIN session s ON s.id = chain.id WHERE s.deleted = 0
ORDER BY s.depth DESC, s.id DESC;

-- name: assign
-- Say whom a session belongs to.
UPDATE session SET workspace = :workspace, agent = :agent WHERE id = :id AND deleted = 0;

-- name: belongs_to
-- Whom the live session of a name belongs to.
SELECT id, workspace, agent FROM session WHERE name = :name AND deleted = 0;
