-- Runs keep the plan they ran with; a run outlives its test. Times are unix milliseconds.
create table runs (
    id           blob    not null primary key,
    owner_id     blob    not null references users (id) on delete cascade,
    plan_id      blob    references plans (id) on delete set null,
    name         text    not null,
    spec         text    not null,
    state        text    not null check (state in ('queued', 'verifying', 'running', 'draining', 'over', 'refused')),
    end_reason   text    check (end_reason in ('completed', 'stopped', 'error_threshold', 'limit', 'rate_missed', 'interrupted')),
    detail       text,
    queued_at    integer not null,
    started_at   integer,
    ended_at     integer,
    heartbeat_at integer,
    result       text,
    share_token  text    unique
) strict;

create index runs_by_owner on runs (owner_id, queued_at);
create index runs_by_plan on runs (plan_id, queued_at);
create index runs_by_state on runs (state, queued_at);

-- One second of one run, from one shard of the generator: what charts read.
create table samples (
    run_id         blob    not null references runs (id) on delete cascade,
    shard          integer not null,
    t              integer not null,
    planned        integer not null,
    sent           integer not null,
    ok             integer not null,
    errors         integer not null,
    clients        real    not null,
    p50            real,
    p95            real,
    p99            real,
    max            real,
    bytes_received integer not null,
    primary key (run_id, shard, t)
) strict, without rowid;

-- The same second whole, with its histograms: what exact percentiles of any stretch are merged from.
create table windows (
    run_id   blob    not null references runs (id) on delete cascade,
    shard    integer not null,
    t        integer not null,
    recorded blob    not null,
    primary key (run_id, shard, t)
) strict;
