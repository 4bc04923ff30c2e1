-- name: footing
-- What some sessions stand on, and how they see it.
SELECT id, family, deleted, base, base_thread, base_n, base_cut, base_open, base_shown, base_deep
FROM session WHERE id {in:ids};

-- name: footings_on
-- The same of every session that stands on some sessions directly, deleted ones included.
SELECT id, family, deleted, base, base_thread, base_n, base_cut, base_open, base_shown, base_deep
FROM session WHERE base {in:ids} ORDER BY id;

-- name: threads_of_sessions
-- The namespaces that some sessions have written in.
SELECT session, id, namespace FROM thread WHERE session {in:sessions} ORDER BY id;

-- name: places_in
-- Every row of some threads, without what is in it.
SELECT thread, n, lane, parent, parent_thread, root, hidden FROM checkpoint
WHERE thread {in:threads} ORDER BY thread, n;

-- name: bodies_at
-- Bodies of some rows of a thread.
SELECT n, body FROM checkpoint WHERE thread = :thread AND n {in:ns};
