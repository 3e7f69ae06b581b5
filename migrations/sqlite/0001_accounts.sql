-- Who may use this installation.

-- At most one row: whoever inserts it is the operator.
create table installation (
    id integer primary key check (id = 1),
    set_up_at integer not null
) strict;

create table users (
    id blob primary key not null,
    -- lower case, trimmed
    email text not null unique,
    name text not null,
    -- PHC string
    password_hash text not null,
    is_operator integer not null check (is_operator in (0, 1)),
    created_at integer not null
) strict;

create table sessions (
    -- SHA-256 of the cookie's value: a stolen database signs nobody in
    id blob primary key not null,
    user_id blob references users (id) on delete cascade,
    -- JSON
    data text not null,
    expires_at integer not null
) strict;

create index sessions_by_expiry on sessions (expires_at);
create index sessions_by_user on sessions (user_id);
