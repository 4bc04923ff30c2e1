-- What only PostgreSQL needs beside layout_1: room for updates in place, and a guard between a writer
-- that begins to use some metadata and a collection that has found it unused. Texts of any length are
-- interned, and a B-tree holds short ones only.
ALTER TABLE session SET (fillfactor = 70);
ALTER TABLE thread SET (fillfactor = 70);
ALTER TABLE metadata_thread ADD FOREIGN KEY (metadata) REFERENCES metadata (id);
ALTER TABLE metadata_item ADD FOREIGN KEY (metadata) REFERENCES metadata (id) ON DELETE CASCADE;
ALTER TABLE term DROP CONSTRAINT term_body_key;
ALTER TABLE term ADD CONSTRAINT term_body_key EXCLUDE USING hash (body WITH =);
