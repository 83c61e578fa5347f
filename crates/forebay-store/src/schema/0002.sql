-- How far the events of a local store have been taken, for each store that is mirrored.
CREATE TABLE forebay_mirrors (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    origin  text COLLATE "C" NOT NULL,
    taken   bigint NOT NULL,
    PRIMARY KEY (tenant, session, origin)
);
