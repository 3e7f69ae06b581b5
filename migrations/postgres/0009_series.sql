-- Series: one test at several sizes, or the search for its capacity. `settings` is what varies and how, as JSON; `spec` the plan
-- as it was, its secrets sealed; `made` how many of its runs were put into the queue.
create table series (
    id         uuid    not null primary key,
    owner_id   uuid    not null references users (id) on delete cascade,
    plan_id    uuid    references plans (id) on delete set null,
    name       text    not null,
    settings   text    not null,
    spec       text    not null,
    state      text    not null check (state in ('running', 'over', 'stopped')),
    detail     text,
    made       bigint not null default 0,
    created_at bigint not null,
    ended_at   bigint
);

create index series_by_owner on series (owner_id, created_at);
create index series_by_plan on series (plan_id, created_at);
create index series_by_state on series (state);

-- The place of a run in its series.
alter table runs add column series_id uuid references series (id) on delete set null;
alter table runs add column series_point bigint;
alter table runs add column series_size double precision;

create index runs_by_series on runs (series_id);

-- What lists show of a run, beside its result: figures, whether it kept its limits (null without any), what limited it, its p95 over
-- time (at most 40 values); and what they are searched by: the hosts that its plan names (one a line, a line break before and after)
-- and its name and hosts in lower case. Null until the run is over, or looked after by this version.
alter table runs add column requests_per_second double precision;
alter table runs add column p50 double precision;
alter table runs add column p95 double precision;
alter table runs add column p99 double precision;
alter table runs add column error_rate double precision;
alter table runs add column duration_s double precision;
alter table runs add column passed boolean;
alter table runs add column limited_by text;
alter table runs add column spark text;
alter table runs add column hosts text;
alter table runs add column search text;

-- In the order of lists. Takes the place of runs_by_owner.
create index runs_listed on runs (owner_id, queued_at, id);
drop index runs_by_owner;
