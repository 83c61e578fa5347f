-- One row for each output. `content` names the rows or the object that hold its bytes.
-- `state` is 0 while it grows, 1 when it is complete, 2 when it was cut short.
CREATE TABLE forebay_outputs (
    tenant      text COLLATE "C" NOT NULL,
    session     text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    number      bigint GENERATED ALWAYS AS IDENTITY,
    content     text COLLATE "C" NOT NULL,
    called_at   bigint NOT NULL,
    record      text NOT NULL,
    state       integer NOT NULL,
    epoch       bigint NOT NULL,
    lease_until timestamptz,
    bytes       bigint NOT NULL,
    beside      bigint NOT NULL,
    changed_at  timestamptz NOT NULL,
    PRIMARY KEY (tenant, session, id)
);

CREATE INDEX forebay_outputs_by_call ON forebay_outputs (tenant, session, called_at, number);

-- The parts of an output beside its bytes, as stretches that begin at `start`.
CREATE TABLE forebay_parts (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    id      text COLLATE "C" NOT NULL,
    part    integer NOT NULL,
    start   bigint NOT NULL,
    bytes   bytea NOT NULL,
    PRIMARY KEY (tenant, session, id, part, start)
);

-- The bytes of outputs, as stretches that begin at `start`. Those of a growing output are always here.
CREATE TABLE forebay_chunks (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    content text COLLATE "C" NOT NULL,
    start   bigint NOT NULL,
    bytes   bytea NOT NULL,
    PRIMARY KEY (tenant, session, content, start)
);

-- Bytes that more than one output may use. `place` is 0 for rows of forebay_chunks, 1 for an object, 2 for a compressed
-- object, 3 for an encrypted one. `generation` is a number that no other row ever has, and part of the object's name: what
-- removes an object can therefore never hit one with the same bytes that was written later.
CREATE TABLE forebay_contents (
    tenant     text COLLATE "C" NOT NULL,
    session    text COLLATE "C" NOT NULL,
    content    text COLLATE "C" NOT NULL,
    place      integer NOT NULL,
    hash       text NOT NULL,
    bytes      bigint NOT NULL,
    stored     bigint NOT NULL,
    users      bigint NOT NULL,
    generation bigint GENERATED ALWAYS AS IDENTITY,
    claimed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant, session, content)
);

CREATE INDEX forebay_contents_unused ON forebay_contents (tenant, claimed_at) WHERE users = 0;
CREATE INDEX forebay_contents_waiting ON forebay_contents (tenant) WHERE place = 0;

-- Objects that nobody uses any more, and that are still to be removed from the bucket.
CREATE TABLE forebay_garbage (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    object  text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, session, object)
);

-- The size of each session's events, which gives the next event its place.
CREATE TABLE forebay_logs (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    bytes   bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- The events of each session, in the order of `start`. A line has no newline here, and counts with one.
CREATE TABLE forebay_events (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    start   bigint NOT NULL,
    line    bytea NOT NULL,
    PRIMARY KEY (tenant, session, start)
);

-- The state of each session. A change names the version that it replaces.
CREATE TABLE forebay_states (
    tenant  text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    change  text NOT NULL,
    state   bytea NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- Buckets that were seen to honour conditional writes.
CREATE TABLE forebay_buckets (
    bucket    text NOT NULL PRIMARY KEY,
    probed_at timestamptz NOT NULL
);
