-- Lookup tables, as in Fig. 5.1 of Cummins's OmniTune: what many measurements
-- share is stored once and named by a small number.

PRAGMA application_id = 0x474C6F6D; -- "GLom"

CREATE TABLE programs (
  id     INTEGER PRIMARY KEY,
  hash   TEXT NOT NULL UNIQUE, -- of the content
  name   TEXT NOT NULL,
  source TEXT NOT NULL,
  rank   INTEGER NOT NULL,
  radius INTEGER NOT NULL,
  points INTEGER NOT NULL,
  arrays INTEGER NOT NULL,
  flops  INTEGER NOT NULL
);

CREATE TABLE devices (
  id     INTEGER PRIMARY KEY,
  api    TEXT NOT NULL,
  name   TEXT NOT NULL,
  uuid   TEXT NOT NULL,
  driver TEXT NOT NULL,
  clocks TEXT NOT NULL,
  units  INTEGER NOT NULL,
  UNIQUE (api, name, uuid, driver, clocks, units)
);

CREATE TABLE compilers (
  id      INTEGER PRIMARY KEY,
  name    TEXT NOT NULL,
  version TEXT NOT NULL,
  options TEXT NOT NULL,
  UNIQUE (name, version, options)
);

-- A scenario is everything that a runtime depends on but the configuration.
CREATE TABLE scenarios (
  id       INTEGER PRIMARY KEY,
  program  INTEGER NOT NULL REFERENCES programs,
  device   INTEGER NOT NULL REFERENCES devices,
  compiler INTEGER NOT NULL REFERENCES compilers,
  host     TEXT NOT NULL,
  sizes    TEXT NOT NULL,
  dtype    TEXT NOT NULL,
  fp       TEXT NOT NULL,
  UNIQUE (program, device, compiler, host, sizes, dtype, fp)
);

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
CREATE INDEX sessions_of_scenario ON sessions (scenario);

-- Processes that added to a session: the first, and those that took it up again.
CREATE TABLE runs (
  session  INTEGER NOT NULL REFERENCES sessions,
  trial    INTEGER NOT NULL, -- the first of this process
  started  INTEGER NOT NULL, -- milliseconds since 1970
  revision TEXT NOT NULL,    -- of gridloom
  PRIMARY KEY (session, started, trial)
) WITHOUT ROWID;

-- Pieces of texts of configurations ("block=4x64,"), and names of kernels.
CREATE TABLE words (
  id   INTEGER PRIMARY KEY,
  text TEXT NOT NULL UNIQUE
);

-- Why variants were refused. Texts may be long, so that they are found by a checksum.
CREATE TABLE notes (
  id   INTEGER PRIMARY KEY,
  sum  INTEGER NOT NULL,
  text TEXT NOT NULL
);
CREATE INDEX notes_by_sum ON notes (sum);

CREATE TABLE trials (
  id      INTEGER PRIMARY KEY, -- session << 24 | index in the session: neighbours on disk, no other index
  kernel  INTEGER NOT NULL,    -- words.id; 0 is the whole program
  config  BLOB NOT NULL,       -- words.id of its pieces, as varints
  verdict INTEGER NOT NULL,
  median  REAL NOT NULL,       -- seconds
  note    INTEGER REFERENCES notes,
  detail  BLOB NOT NULL        -- see codec.go
);
