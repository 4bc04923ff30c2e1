-- name: set_policy
-- How long the checkpoints of a scope are kept.
INSERT INTO retention (scope, name, policy) VALUES (:scope, :name, :policy)
ON CONFLICT (scope, name) DO UPDATE SET policy = excluded.policy;

-- name: policy
-- The policy of a scope.
SELECT policy FROM retention WHERE scope = :scope AND name = :name;

-- name: policies
-- Every policy.
SELECT scope, name, policy FROM retention ORDER BY scope, name;

-- name: drop_policy
-- The scope has no policy of its own any more.
DELETE FROM retention WHERE scope = :scope AND name = :name;

-- name: where_from
-- What a session's policy can depend on.
SELECT workspace, agent FROM session WHERE name = :name AND deleted = 0;

-- name: sessions_to_collect
-- Live sessions below a number, the newest first, and what their policies can depend on.
SELECT id, name, family, workspace, agent FROM session WHERE deleted = 0 AND id < :below
ORDER BY id DESC LIMIT :limit;

-- name: session_to_collect
-- The same of one session.
SELECT id, name, family, workspace, agent FROM session WHERE name = :name AND deleted = 0;

-- name: count_live_sessions
-- How many sessions there are.
SELECT count(*) FROM session WHERE deleted = 0;

-- name: name_of
-- What a session was called.
SELECT name FROM session WHERE id = :id;

-- name: rows_to_judge
-- Every checkpoint of a thread in order of writing, as far as it matters to whether it is kept.
SELECT n, cid, lane, parent, parent_thread, root, hidden, size FROM checkpoint
WHERE thread = :thread ORDER BY n;

-- name: fork_points
-- At which of its rows live sessions were forked from a session.
SELECT DISTINCT base_n FROM session WHERE base = :session AND base_thread = :thread AND deleted = 0;

-- name: written_on
-- Which of some checkpoints have writes on them.
SELECT DISTINCT n FROM pending WHERE thread = :thread AND n {in:ns};

-- name: sessions_of_name
-- Every session that had a name, deleted ones too.
SELECT id, family, deleted FROM session WHERE name = :name AND deleted = 0
UNION ALL
SELECT id, family, deleted FROM session WHERE name = :name AND deleted <> 0 AND deleted >= 0
ORDER BY 1;

-- name: scrub_tombstone
-- Forget what people said about a deleted session.
UPDATE session SET origin_by = NULL, origin_reason = NULL, origin_run = NULL, workspace = NULL,
    agent = NULL
WHERE id = :id AND deleted <> 0;

-- name: weigh_blobs
-- How many values a family has, and how long they are.
SELECT count(*), COALESCE(sum(length(data)), 0) FROM blob WHERE id >= :low AND id < :high;

-- name: weigh_slots
-- How long the list items of a family are that lie in the lists themselves.
SELECT COALESCE(sum(length(cell)), 0) FROM list_item WHERE list >= :low AND list < :high;

-- name: names_of
-- What some sessions are called, those that live.
SELECT id, name FROM session WHERE id {in:ids} AND deleted = 0 ORDER BY id;

-- name: identities_of
-- The ids of every checkpoint in a thread, and what is in them.
SELECT cid, body FROM checkpoint WHERE thread = :thread ORDER BY n;
