-- Tests, called plans in code. `spec` is the plan as JSON, credentials included: it never leaves the server.
create table plans (
    id         blob    not null primary key,
    owner_id   blob    not null references users (id) on delete cascade,
    name       text    not null,
    notes      text    not null,
    spec       text    not null,
    created_at integer not null,
    updated_at integer not null
) strict;

create index plans_by_owner on plans (owner_id, updated_at);
