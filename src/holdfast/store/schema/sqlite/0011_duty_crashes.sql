-- Duties that were executed when a server process died (see store/crashes.py).
CREATE TABLE duty_crashes (
    kind TEXT NOT NULL,
    duty_id TEXT NOT NULL,
    progress INTEGER NOT NULL,
    faults INTEGER NOT NULL,
    kills INTEGER NOT NULL,
    crashed_at INTEGER NOT NULL,
    PRIMARY KEY (kind, duty_id)
) STRICT, WITHOUT ROWID;
