-- name: find_term
-- The number of an interned text.
SELECT id FROM term WHERE body = :body;

-- name: insert_term
-- Intern a text.
INSERT INTO term (body) VALUES (:body) RETURNING id;

-- name: term_body
-- An interned text by number.
SELECT body FROM term WHERE id = :id;

-- name: find_metadata
-- The number of constant metadata.
SELECT id FROM metadata WHERE digest = :digest;

-- name: insert_metadata
-- Constant metadata, once.
INSERT INTO metadata (digest, body) VALUES (:digest, :body) RETURNING id;

-- name: insert_metadata_item
-- One entry of constant metadata, for filters.
INSERT INTO metadata_item (name, value, metadata) VALUES (:name, :value, :metadata);

-- name: metadata_body
-- Constant metadata by number.
SELECT body FROM metadata WHERE id = :id;

-- name: reserve_numbers
-- Take a block of value numbers of a family.
UPDATE family SET next = next + :count WHERE id = :family RETURNING next - :count;

-- name: insert_blob
-- A shared value.
INSERT INTO blob (id, digest, data) VALUES (:id, :digest, :data);

-- name: blobs
-- Shared values by number.
SELECT id, data FROM blob WHERE id {in:ids};

-- name: insert_list
-- A persistent list.
INSERT INTO list (id, base, base_length) VALUES (:id, :base, :base_length);

-- name: list_row
-- What a list stands on.
SELECT base, base_length FROM list WHERE id = :id;

-- name: insert_item
-- One slot of a list.
INSERT INTO list_item (list, i, blob, cell) VALUES (:list, :i, :blob, :cell);

-- name: claim_slot
-- One slot of a list, unless it is taken.
INSERT INTO list_item (list, i, blob, cell) VALUES (:list, :i, :blob, :cell) ON CONFLICT DO NOTHING;

-- name: items
-- Slots of a list, and the values in them.
SELECT li.i, li.blob, li.cell, b.data FROM list_item li LEFT JOIN blob b ON b.id = li.blob
WHERE li.list = :list AND li.i >= :start AND li.i < :stop ORDER BY li.i;

-- name: delete_blobs
-- Every shared value of a family.
DELETE FROM blob WHERE id >= :low AND id < :high;

-- name: delete_lists
-- Every list of a family.
DELETE FROM list WHERE id >= :low AND id < :high;

-- name: delete_items
-- Every list slot of a family.
DELETE FROM list_item WHERE list >= :low AND list < :high;

-- name: delete_family
-- A family without members.
DELETE FROM family WHERE id = :family;

-- name: setting
-- A fact about the whole database.
SELECT value FROM setting WHERE name = :name;

-- name: insert_setting
-- Record a fact about the whole database.
INSERT INTO setting (name, value) VALUES (:name, :value);
