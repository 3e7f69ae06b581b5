-- What may be tested, by whom, and how that was proved.

create table hosts (
    id blob primary key not null,
    user_id blob not null references users (id) on delete cascade,
    -- ASCII, lower case; IPv6 in brackets
    host text not null,
    port integer not null check (port between 1 and 65535),
    -- what the owner typed; ownership does not depend on it
    scheme text not null check (scheme in ('http', 'https')),
    -- 32 hexadecimal digits
    token text not null,
    state text not null check (state in ('unverified', 'verified', 'lost')),
    method text check (method in ('file', 'dns', 'meta')),
    verified_at integer,
    checked_at integer,
    created_at integer not null,
    unique (user_id, host, port)
) strict;

-- What was found each time a proof was looked for.
create table proofs (
    id blob primary key not null,
    host_id blob not null references hosts (id) on delete cascade,
    at integer not null,
    method text not null check (method in ('file', 'dns', 'meta')),
    passed integer not null check (passed in (0, 1)),
    -- a sentence
    message text not null,
    -- HTTP status of the answer
    status integer,
    expected text not null,
    -- first characters of the answer
    seen text
) strict;

create index proofs_by_host on proofs (host_id, at);
