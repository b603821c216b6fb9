-- A whole number out of a JSON text; 0 where there is none.
CREATE FUNCTION json_int(value text, field text) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT coalesce((value::json ->> field)::numeric::bigint, 0)
$$;
