-- Who may use this installation.

-- At most one row: whoever inserts it is the operator.
create table installation (
    id bigint primary key check (id = 1),
    set_up_at bigint not null
);

create table users (
    id uuid primary key not null,
    -- lower case, trimmed
    email text not null unique,
    name text not null,
    -- PHC string
    password_hash text not null,
    is_operator boolean not null,
    created_at bigint not null
);

create table sessions (
    -- SHA-256 of the cookie's value: a stolen database signs nobody in
    id bytea primary key not null,
    user_id uuid references users (id) on delete cascade,
    -- JSON
    data text not null,
    expires_at bigint not null
);

create index sessions_by_expiry on sessions (expires_at);
create index sessions_by_user on sessions (user_id);
