-- Duties that were executed when a server process died (see store/crashes.py).
CREATE TABLE duty_crashes (
    kind text NOT NULL,
    duty_id uuid NOT NULL,
    progress bigint NOT NULL,
    faults bigint NOT NULL,
    kills bigint NOT NULL,
    crashed_at bigint NOT NULL,
    PRIMARY KEY (kind, duty_id)
);
