-- What a session says is complete: the canonical IR of its program (stored once, with
-- its hash), all properties of the device, how the program was spread over processes,
-- the hash of its source, where it was measured, and what happened besides its trials.
--
-- Columns that hold a value with parts have its JSON: budget, space, clocks, host and
-- properties. What earlier versions wrote there as text stays and is read as such. The
-- threads of a processor were part of its name; names are what is looked for, so that
-- they are taken apart here.

ALTER TABLE programs ADD COLUMN ir TEXT NOT NULL DEFAULT '';

ALTER TABLE runs RENAME TO old_runs;
ALTER TABLE sessions RENAME TO old_sessions;
ALTER TABLE scenarios RENAME TO old_scenarios;
ALTER TABLE devices RENAME TO old_devices;

-- Comments stand outside of the tables' definitions, which the database keeps as they are.

-- units are multiprocessors, or threads of a processor; 0 is not known. clocks and
-- properties are JSON.
CREATE TABLE devices (
  id         INTEGER PRIMARY KEY,
  api        TEXT NOT NULL,
  name       TEXT NOT NULL,
  uuid       TEXT NOT NULL,
  driver     TEXT NOT NULL,
  clocks     TEXT NOT NULL,
  units      INTEGER NOT NULL,
  properties TEXT NOT NULL DEFAULT '',
  UNIQUE (api, name, uuid, driver, clocks, units, properties)
);
INSERT INTO devices (id, api, name, uuid, driver, clocks, units)
  SELECT id, api, name, uuid, driver, clocks, units FROM old_devices;

-- "AMD EPYC 9654, 8 threads" has 8 units. Where that is a device already, it stays.
WITH digits AS (
  SELECT id, rtrim(name, ' threads') AS head FROM devices WHERE api = 'cpu' AND units = 0
), split AS (
  SELECT id, substr(head, 1, length(rtrim(head, '0123456789')) - 2) AS name,
    CAST(substr(head, length(rtrim(head, '0123456789')) + 1) AS INTEGER) AS units FROM digits
)
UPDATE OR IGNORE devices SET name = split.name, units = split.units
  FROM split WHERE split.id = devices.id AND split.units > 0 AND split.name != ''
    AND devices.name IN (split.name || ', ' || split.units || ' threads', split.name || ', ' || split.units || ' thread');

-- sizes are their text, L=512,M=512,N=512. host and decomposition are JSON.
CREATE TABLE scenarios (
  id            INTEGER PRIMARY KEY,
  program       INTEGER NOT NULL REFERENCES programs,
  device        INTEGER NOT NULL REFERENCES devices,
  compiler      INTEGER NOT NULL REFERENCES compilers,
  host          TEXT NOT NULL,
  sizes         TEXT NOT NULL,
  dtype         TEXT NOT NULL,
  fp            TEXT NOT NULL,
  arithmetic    INTEGER NOT NULL DEFAULT 1,
  ir            INTEGER NOT NULL DEFAULT 1,
  ranks         INTEGER NOT NULL DEFAULT 0,
  decomposition TEXT NOT NULL DEFAULT '',
  network       TEXT NOT NULL DEFAULT '',
  UNIQUE (program, device, compiler, host, sizes, dtype, fp, arithmetic, ir, ranks, decomposition, network)
);
INSERT INTO scenarios (id, program, device, compiler, host, sizes, dtype, fp, arithmetic, ir)
  SELECT id, program, device, compiler, host, sizes, dtype, fp, arithmetic, ir FROM old_scenarios;

-- source is the hash of the program's source, seed the 64 bits of an unsigned number.
-- budget and space are JSON. Times are milliseconds since 1970.
CREATE TABLE sessions (
  id       INTEGER PRIMARY KEY,
  uid      TEXT NOT NULL UNIQUE,
  scenario INTEGER NOT NULL REFERENCES scenarios,
  source   TEXT NOT NULL DEFAULT '',
  strategy TEXT NOT NULL,
  seed     INTEGER NOT NULL,
  budget   TEXT NOT NULL,
  space    TEXT NOT NULL,
  origin   TEXT NOT NULL DEFAULT '',
  started  INTEGER NOT NULL,
  finished INTEGER NOT NULL DEFAULT 0,
  outcome  TEXT NOT NULL DEFAULT ''
);
INSERT INTO sessions (id, uid, scenario, strategy, seed, budget, space, started, finished, outcome)
  SELECT id, uid, scenario, strategy, seed, budget, space, started, finished, outcome FROM old_sessions;

-- trial is the first of this process, revision that of gridloom.
CREATE TABLE runs (
  session  INTEGER NOT NULL REFERENCES sessions,
  trial    INTEGER NOT NULL,
  started  INTEGER NOT NULL,
  revision TEXT NOT NULL,
  PRIMARY KEY (session, started, trial)
) WITHOUT ROWID;
INSERT INTO runs (session, trial, started, revision) SELECT session, trial, started, revision FROM old_runs;

DROP TABLE old_runs;
DROP TABLE old_sessions;
DROP TABLE old_scenarios;
DROP TABLE old_devices;

CREATE INDEX sessions_of_scenario ON sessions (scenario);

-- detail is the JSON of the rest.
CREATE TABLE events (
  session INTEGER NOT NULL REFERENCES sessions,
  number  INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  kind    TEXT NOT NULL,
  detail  TEXT NOT NULL,
  PRIMARY KEY (session, number)
) WITHOUT ROWID;

-- Plans of whole programs are few among trials of kernels, and run looks for them.
CREATE INDEX trials_of_programs ON trials (id) WHERE kernel = 0;
