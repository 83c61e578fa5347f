-- The keys of sessions whose content is encrypted, each encrypted with the master key, which no server has.
CREATE TABLE forebay_keys (
    tenant    text COLLATE "C" NOT NULL,
    session   text COLLATE "C" NOT NULL,
    key       text COLLATE "C" NOT NULL,
    encrypted bytea NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- The key by which an output and an event are encrypted; empty for none.
ALTER TABLE forebay_outputs ADD COLUMN key text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE forebay_events ADD COLUMN key text COLLATE "C" NOT NULL DEFAULT '';
