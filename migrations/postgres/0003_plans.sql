-- Tests, called plans in code. `spec` is the plan as JSON, credentials included: it never leaves the server.
create table plans (
    id         uuid   not null primary key,
    owner_id   uuid   not null references users (id) on delete cascade,
    name       text   not null,
    notes      text   not null,
    spec       text   not null,
    created_at bigint not null,
    updated_at bigint not null
);

create index plans_by_owner on plans (owner_id, updated_at);
