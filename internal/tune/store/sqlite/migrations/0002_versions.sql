-- Scenarios say by which definitions of arithmetic and of the program IR their
-- trials were made. What was stored before is of the first ones, which is also the
-- default: a Gridloom of that time may have the store open, and goes on.
--
-- A constraint cannot be changed, so the table is made anew, and with it those that
-- refer to it: rows go first into new tables, then the old ones go, children first.

ALTER TABLE runs RENAME TO old_runs;
ALTER TABLE sessions RENAME TO old_sessions;
ALTER TABLE scenarios RENAME TO old_scenarios;

CREATE TABLE scenarios (
  id         INTEGER PRIMARY KEY,
  program    INTEGER NOT NULL REFERENCES programs,
  device     INTEGER NOT NULL REFERENCES devices,
  compiler   INTEGER NOT NULL REFERENCES compilers,
  host       TEXT NOT NULL,
  sizes      TEXT NOT NULL,
  dtype      TEXT NOT NULL,
  fp         TEXT NOT NULL,
  arithmetic INTEGER NOT NULL DEFAULT 1,
  ir         INTEGER NOT NULL DEFAULT 1,
  UNIQUE (program, device, compiler, host, sizes, dtype, fp, arithmetic, ir)
);
INSERT INTO scenarios (id, program, device, compiler, host, sizes, dtype, fp)
  SELECT id, program, device, compiler, host, sizes, dtype, fp FROM old_scenarios;

CREATE TABLE sessions (
  id       INTEGER PRIMARY KEY,
  uid      TEXT NOT NULL UNIQUE, -- the same in every store that holds the session
  scenario INTEGER NOT NULL REFERENCES scenarios,
  strategy TEXT NOT NULL,
  seed     INTEGER NOT NULL, -- the 64 bits of an unsigned number
  budget   TEXT NOT NULL,
  space    TEXT NOT NULL,    -- fingerprint
  started  INTEGER NOT NULL, -- milliseconds since 1970
  finished INTEGER NOT NULL DEFAULT 0,
  outcome  TEXT NOT NULL DEFAULT ''
);
INSERT INTO sessions (id, uid, scenario, strategy, seed, budget, space, started, finished, outcome)
  SELECT id, uid, scenario, strategy, seed, budget, space, started, finished, outcome FROM old_sessions;

CREATE TABLE runs (
  session  INTEGER NOT NULL REFERENCES sessions,
  trial    INTEGER NOT NULL, -- the first of this process
  started  INTEGER NOT NULL, -- milliseconds since 1970
  revision TEXT NOT NULL,    -- of gridloom
  PRIMARY KEY (session, started, trial)
) WITHOUT ROWID;
INSERT INTO runs (session, trial, started, revision) SELECT session, trial, started, revision FROM old_runs;

DROP TABLE old_runs;
DROP TABLE old_sessions;
DROP TABLE old_scenarios;

CREATE INDEX sessions_of_scenario ON sessions (scenario);
