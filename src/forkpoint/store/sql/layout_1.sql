-- The first layout. Portable between SQLite and PostgreSQL but for the words in braces, which the
-- driver replaces: {key} a row number that is never given out twice, {given_key} one that the program
-- gives out, {clustered} a table kept in the order of its primary key, {bytes} a byte string.
-- A layout that was released never changes: what comes later is in layout_2.sql and so on.

-- What the layout is, and small facts about the whole database.
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value {bytes} NOT NULL
) {clustered};

-- One conversation. A name can come back after it was deleted; the row number cannot.
-- tick: the next number for a checkpoint or a write of this session.
-- parent: on a fork, the session it was taken from. base, base_*: the session that owns the row it was
-- taken at (the parent, or a session below it when the row was inherited), the row it was taken at, the session's
-- tick at that moment (nothing written later is visible here), whether sub-namespaces of the row are
-- seen (0 no: it had a child; 1 yes: it was a live head; 2 only on the way to where the fork begins
-- inside a subgraph), whether anything inherited is still shown, and
-- whether the base then showed what it inherits itself.
-- origin_*: the same in words, which stay when the source has gone.
CREATE TABLE session (
    id {key},
    name TEXT NOT NULL,
    family BIGINT NOT NULL,
    deleted BIGINT NOT NULL DEFAULT 0,
    created BIGINT NOT NULL,
    touched BIGINT NOT NULL,
    tick BIGINT NOT NULL DEFAULT 0,
    depth BIGINT NOT NULL DEFAULT 0,
    root TEXT NOT NULL,
    parent BIGINT,
    base BIGINT,
    base_thread BIGINT,
    base_n BIGINT,
    base_cut BIGINT,
    base_open BIGINT,
    base_shown BIGINT NOT NULL DEFAULT 1,
    base_deep BIGINT NOT NULL DEFAULT 1,
    origin_session TEXT,
    origin_checkpoint {bytes},
    origin_by TEXT,
    origin_reason TEXT,
    origin_run TEXT,
    origin_pending TEXT,
    request TEXT
);
CREATE UNIQUE INDEX session_name ON session (name) WHERE deleted = 0;
CREATE INDEX session_tombstone ON session (name, deleted) WHERE deleted <> 0;
CREATE INDEX session_live ON session (id) WHERE deleted = 0;
CREATE INDEX session_family ON session (family);
CREATE UNIQUE INDEX session_request ON session (request) WHERE request IS NOT NULL AND deleted = 0;
CREATE INDEX session_base ON session (base, base_thread, base_n) WHERE base IS NOT NULL;
CREATE INDEX session_parent ON session (parent) WHERE parent IS NOT NULL;
CREATE INDEX session_touched ON session (touched, id) WHERE deleted = 0;

-- Where the checkpoints of one namespace of a session go. head: the row number (n) of the current
-- checkpoint. It is moved by the transaction that writes a checkpoint, never derived from an id.
CREATE TABLE thread (
    id {key},
    session BIGINT NOT NULL,
    namespace TEXT NOT NULL,
    head BIGINT,
    UNIQUE (session, namespace)
);

-- Immutable but for `hidden`: the tick at which the row left its own session's view (0: it has not).
-- n: order of writing within the session. lane: the n of the first row of an unbroken run of
-- children, so that "is an ancestor of" is a comparison and not a walk. parent: the parent's n,
-- in parent_thread when it lies in another session. root: the n of the root namespace's checkpoint
-- that this sub-namespace checkpoint belongs to (-1: one that the session inherits). turn: the n of
-- the row of the same thread that began the turn this one belongs to, where there is one. size: bytes
-- that came with the row (0: a copy; -1: inherited, and adopted by a fork that wrote on it).
CREATE TABLE checkpoint (
    thread BIGINT NOT NULL,
    n BIGINT NOT NULL,
    cid {bytes} NOT NULL,
    lane BIGINT NOT NULL,
    parent BIGINT,
    parent_thread BIGINT,
    root BIGINT,
    hidden BIGINT NOT NULL DEFAULT 0,
    step BIGINT,
    turn BIGINT,
    metadata BIGINT NOT NULL,
    size BIGINT NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (thread, n)
) {clustered};
CREATE UNIQUE INDEX checkpoint_cid ON checkpoint (cid, thread);
CREATE INDEX checkpoint_branch ON checkpoint (thread, parent) WHERE n = lane;
CREATE INDEX checkpoint_foreign ON checkpoint (parent_thread, parent) WHERE parent_thread IS NOT NULL;
CREATE INDEX checkpoint_root ON checkpoint (thread, root, n) WHERE root IS NOT NULL;

-- Writes stored on a checkpoint, one row a call; the tick w orders them and bounds what a fork sees.
CREATE TABLE pending (
    thread BIGINT NOT NULL,
    n BIGINT NOT NULL,
    w BIGINT NOT NULL,
    task {bytes} NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (thread, n, w)
) {clustered};

-- Writes that arrived before their checkpoint; moved to `pending` by the put of it.
CREATE TABLE early (
    thread BIGINT NOT NULL,
    cid {bytes} NOT NULL,
    w BIGINT NOT NULL,
    task {bytes} NOT NULL,
    body {bytes} NOT NULL,
    PRIMARY KEY (thread, cid, w)
) {clustered};

-- Texts that rows would otherwise repeat: channel names, who has seen what, who wrote where.
CREATE TABLE term (
    id {key},
    body {bytes} NOT NULL UNIQUE
);

-- The part of checkpoint metadata that does not change from step to step, once; and its entries,
-- so that a filter is a look-up.
CREATE TABLE metadata (
    id {key},
    digest {bytes} NOT NULL UNIQUE,
    body TEXT NOT NULL
);
CREATE TABLE metadata_item (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    metadata BIGINT NOT NULL,
    PRIMARY KEY (name, value, metadata)
) {clustered};

-- In which threads some metadata is used: one row for many checkpoints.
CREATE TABLE metadata_thread (
    metadata BIGINT NOT NULL,
    thread BIGINT NOT NULL,
    PRIMARY KEY (metadata, thread)
) {clustered};

-- Numbers of blobs and lists are given out per family (a session, its forks, and theirs), in blocks.
CREATE TABLE family (
    id BIGINT PRIMARY KEY,
    next BIGINT NOT NULL
);

-- A shared value. id = family << 32 | number, so that a family lies together and goes together.
CREATE TABLE blob (
    id {given_key},
    digest {bytes} NOT NULL,
    data {bytes} NOT NULL
);

-- A persistent list: its own items, after the first base_length items of `base`. A slot is written
-- once, ever: whoever finds it taken makes a new list on top.
CREATE TABLE list (
    id {given_key},
    base BIGINT,
    base_length BIGINT NOT NULL DEFAULT 0
);
CREATE TABLE list_item (
    list BIGINT NOT NULL,
    i BIGINT NOT NULL,
    blob BIGINT,
    cell {bytes},
    PRIMARY KEY (list, i)
) {clustered};
