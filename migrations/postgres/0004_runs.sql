-- Runs keep the plan they ran with; a run outlives its test. Times are unix milliseconds.
create table runs (
    id           uuid   not null primary key,
    owner_id     uuid   not null references users (id) on delete cascade,
    plan_id      uuid   references plans (id) on delete set null,
    name         text   not null,
    spec         text   not null,
    state        text   not null check (state in ('queued', 'verifying', 'running', 'draining', 'over', 'refused')),
    end_reason   text   check (end_reason in ('completed', 'stopped', 'error_threshold', 'limit', 'rate_missed', 'interrupted')),
    detail       text,
    queued_at    bigint not null,
    started_at   bigint,
    ended_at     bigint,
    heartbeat_at bigint,
    result       text,
    share_token  text   unique
);

create index runs_by_owner on runs (owner_id, queued_at);
create index runs_by_plan on runs (plan_id, queued_at);
create index runs_by_state on runs (state, queued_at);

-- One second of one run, from one shard of the generator: what charts read.
create table samples (
    run_id         uuid             not null references runs (id) on delete cascade,
    shard          bigint           not null,
    t              bigint           not null,
    planned        bigint           not null,
    sent           bigint           not null,
    ok             bigint           not null,
    errors         bigint           not null,
    clients        double precision not null,
    p50            double precision,
    p95            double precision,
    p99            double precision,
    max            double precision,
    bytes_received bigint           not null,
    primary key (run_id, shard, t)
);

-- The same second whole, with its histograms: what exact percentiles of any stretch are merged from.
create table windows (
    run_id   uuid    not null references runs (id) on delete cascade,
    shard    bigint  not null,
    t        bigint  not null,
    recorded bytea   not null,
    primary key (run_id, shard, t)
);
