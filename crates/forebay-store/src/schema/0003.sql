-- The tokens of the model's context that each session has in use: as reported last, and given since. `marks` names the
-- last changes, so that one whose answer was lost is made once.
CREATE TABLE forebay_rooms (
    tenant   text COLLATE "C" NOT NULL,
    session  text COLLATE "C" NOT NULL,
    reported bigint NOT NULL,
    given    bigint NOT NULL,
    marks    text[] NOT NULL,
    PRIMARY KEY (tenant, session)
);

-- It held the same as text, which only a program could add to. The counts begin anew.
DROP TABLE forebay_states;
