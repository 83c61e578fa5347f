-- How far the events of a local store have been taken, for each store that is mirrored.
CREATE TABLE forebay_mirrors (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    origin  text COLLATE "C" NOT NULL,
    taken   bigint NOT NULL,
    PRIMARY KEY (tenant, session, origin)
);

-- Outputs that were removed, so that a mirror of a machine that still has one does not bring it back. They are forgotten
-- after 90 days.
CREATE TABLE forebay_removed (
    tenant     text COLLATE "C" NOT NULL,
    session    text COLLATE "C" NOT NULL,
    id         text COLLATE "C" NOT NULL,
    called_at  bigint NOT NULL,
    removed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, session, id, called_at)
);

CREATE INDEX forebay_removed_by_time ON forebay_removed (removed_at);
