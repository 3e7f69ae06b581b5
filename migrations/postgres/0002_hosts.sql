-- What may be tested, by whom, and how that was proved.

create table hosts (
    id uuid primary key not null,
    user_id uuid not null references users (id) on delete cascade,
    -- ASCII, lower case; IPv6 in brackets
    host text not null,
    port bigint not null check (port between 1 and 65535),
    -- what the owner typed; ownership does not depend on it
    scheme text not null check (scheme in ('http', 'https')),
    -- 32 hexadecimal digits
    token text not null,
    state text not null check (state in ('unverified', 'verified', 'lost')),
    method text check (method in ('file', 'dns', 'meta')),
    verified_at bigint,
    checked_at bigint,
    created_at bigint not null,
    unique (user_id, host, port)
);

-- What was found each time a proof was looked for.
create table proofs (
    id uuid primary key not null,
    host_id uuid not null references hosts (id) on delete cascade,
    at bigint not null,
    method text not null check (method in ('file', 'dns', 'meta')),
    passed boolean not null,
    -- a sentence
    message text not null,
    -- HTTP status of the answer
    status bigint,
    expected text not null,
    -- first characters of the answer
    seen text
);

create index proofs_by_host on proofs (host_id, at);
