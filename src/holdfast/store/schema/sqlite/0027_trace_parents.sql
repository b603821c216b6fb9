-- The span of another program that a turn or a run is part of (W3C traceparent), as its request said; a message
-- that waits keeps it for the turn that it will start.
ALTER TABLE queue ADD COLUMN trace_parent TEXT;
ALTER TABLE turns ADD COLUMN trace_parent TEXT;
ALTER TABLE runs ADD COLUMN trace_parent TEXT;
ALTER TABLE flow_runs ADD COLUMN trace_parent TEXT;
