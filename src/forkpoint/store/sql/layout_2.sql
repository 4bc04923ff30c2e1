-- Collection, labels, retention. Applied to a new database after layout_1, and to an old one on its
-- own.

-- swept: rises when unreachable values of the session's family are about to be removed. Whoever knows
-- a value by its digest, a number block or a list's tip, knows it for one `swept` only.
ALTER TABLE session ADD COLUMN swept BIGINT NOT NULL DEFAULT 0;
-- Whom the session belongs to, as far as retention asks.
ALTER TABLE session ADD COLUMN workspace TEXT;
ALTER TABLE session ADD COLUMN agent TEXT;
-- Where the sessions came from that this one came from, in words, as far as they are of another
-- database: it was imported.
ALTER TABLE session ADD COLUMN ancestry {bytes};
CREATE INDEX session_workspace ON session (workspace, touched, id)
WHERE deleted = 0 AND workspace IS NOT NULL;
CREATE INDEX session_agent ON session (agent, touched, id) WHERE deleted = 0 AND agent IS NOT NULL;
CREATE INDEX session_workspace_agent ON session (workspace, agent, touched, id)
WHERE deleted = 0 AND workspace IS NOT NULL AND agent IS NOT NULL;

-- dirty: rows that were removed since the family's values were last collected. shape: rises when what
-- a member stands on changes (a fork was detached), so that remembered views are read again.
ALTER TABLE family ADD COLUMN dirty BIGINT NOT NULL DEFAULT 0;
ALTER TABLE family ADD COLUMN shape BIGINT NOT NULL DEFAULT 0;
CREATE INDEX family_dirty ON family (id) WHERE dirty <> 0;

-- A name that a person gave a checkpoint of a session's root namespace. tick: the session's tick at
-- that moment, so that forks taken earlier do not see it (-1 and below: one that the session inherits,
-- as a row of its own; a name that the session gives itself comes first). gone: the tick at which the name was taken off again (0: it was not), so that forks taken
-- before that still see it.
CREATE TABLE label (
    session BIGINT NOT NULL,
    name TEXT NOT NULL,
    cid {bytes} NOT NULL,
    tick BIGINT NOT NULL,
    created BIGINT NOT NULL,
    gone BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (session, name, tick)
) {clustered};
CREATE UNIQUE INDEX label_live ON label (session, name) WHERE gone = 0 AND tick >= 0;

-- How long checkpoints are kept: scope is 'database', 'workspace', 'agent' or 'session', name which one
-- ('' for the database), policy JSON.
CREATE TABLE retention (
    scope TEXT NOT NULL,
    name TEXT NOT NULL,
    policy TEXT NOT NULL,
    PRIMARY KEY (scope, name)
) {clustered};

-- What metadata a thread uses, so that it goes with the thread.
CREATE INDEX metadata_thread_thread ON metadata_thread (thread);
