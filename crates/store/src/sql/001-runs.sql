-- Runs are set against each other within a series only.
CREATE TABLE series (
    id          INTEGER PRIMARY KEY,
    tree        TEXT NOT NULL,
    branch      TEXT NOT NULL,
    host        TEXT NOT NULL,
    accelerator TEXT NOT NULL,
    suite       TEXT NOT NULL,
    UNIQUE (branch, tree, host, accelerator, suite)
) STRICT;

CREATE TABLE runs (
    id           INTEGER PRIMARY KEY,
    series       INTEGER NOT NULL REFERENCES series (id),
    created      TEXT NOT NULL,
    revision     TEXT NOT NULL,
    subject      TEXT NOT NULL,
    committed    TEXT NOT NULL,
    position     INTEGER,
    suite_sha256 TEXT NOT NULL,
    image_sha256 TEXT,
    tool_version TEXT NOT NULL,
    outcome      TEXT NOT NULL CHECK (outcome IN ('good', 'regressed', 'failed', 'unjudged')),
    reason       TEXT CHECK ((reason IS NULL) = (outcome = 'good')),
    report       TEXT NOT NULL,
    build_millis INTEGER,
    boots_millis INTEGER
) STRICT;
-- The rows of an index are in the order of the runs' numbers where its columns are alike.
CREATE INDEX runs_of_series ON runs (series);
CREATE INDEX runs_by_outcome ON runs (series, outcome);

-- Of checks the unit and the polarity are ''. A metric whose unit changed is another one.
CREATE TABLE names (
    id       INTEGER PRIMARY KEY,
    test     TEXT NOT NULL,
    name     TEXT NOT NULL,
    unit     TEXT NOT NULL,
    polarity TEXT NOT NULL,
    UNIQUE (test, name, unit)
) STRICT;

-- Which names a series has, and since which run.
CREATE TABLE series_names (
    series INTEGER NOT NULL REFERENCES series (id),
    name   INTEGER NOT NULL REFERENCES names (id),
    first  INTEGER NOT NULL REFERENCES runs (id),
    PRIMARY KEY (series, name)
) STRICT, WITHOUT ROWID;

-- By name first: what is asked for is one name over many runs.
CREATE TABLE metrics (
    name  INTEGER NOT NULL REFERENCES names (id),
    run   INTEGER NOT NULL REFERENCES runs (id),
    low   INTEGER NOT NULL,
    high  INTEGER NOT NULL,
    boots INTEGER NOT NULL,
    PRIMARY KEY (name, run)
) STRICT, WITHOUT ROWID;

CREATE TABLE checks (
    name   INTEGER NOT NULL REFERENCES names (id),
    run    INTEGER NOT NULL REFERENCES runs (id),
    passed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    PRIMARY KEY (name, run)
) STRICT, WITHOUT ROWID;

-- JSON, compressed (zlib); of the last good runs of each series only.
CREATE TABLE boots (
    run  INTEGER PRIMARY KEY REFERENCES runs (id),
    json BLOB NOT NULL
) STRICT;

-- A culprit is one commit with its subject, or the commits after `good` up to `culprit`.
CREATE TABLE regressions (
    id         INTEGER PRIMARY KEY,
    series     INTEGER NOT NULL REFERENCES series (id),
    culprit    TEXT NOT NULL,
    subject    TEXT,
    good       TEXT,
    target     TEXT NOT NULL,
    first_seen INTEGER NOT NULL REFERENCES runs (id),
    closed_by  INTEGER REFERENCES runs (id),
    CHECK ((subject IS NULL) <> (good IS NULL))
) STRICT;
CREATE UNIQUE INDEX open_regressions ON regressions (series, target, culprit) WHERE closed_by IS NULL;
