-- Series: one test at several sizes, or the search for its capacity. `settings` is what varies and how, as JSON; `spec` the plan
-- as it was, its secrets sealed; `made` how many of its runs were put into the queue.
create table series (
    id         blob    not null primary key,
    owner_id   blob    not null references users (id) on delete cascade,
    plan_id    blob    references plans (id) on delete set null,
    name       text    not null,
    settings   text    not null,
    spec       text    not null,
    state      text    not null check (state in ('running', 'over', 'stopped')),
    detail     text,
    made       integer not null default 0,
    created_at integer not null,
    ended_at   integer
) strict;

create index series_by_owner on series (owner_id, created_at);
create index series_by_plan on series (plan_id, created_at);
create index series_by_state on series (state);

-- The place of a run in its series.
alter table runs add column series_id blob references series (id) on delete set null;
alter table runs add column series_point integer;
alter table runs add column series_size real;

create index runs_by_series on runs (series_id);

-- What lists show of a run, beside its result: figures, whether it kept its limits (null without any), what limited it, its p95 over
-- time (at most 40 values); and what they are searched by: the hosts that its plan names (one a line, a line break before and after)
-- and its name and hosts in lower case. Null until the run is over, or looked after by this version.
alter table runs add column requests_per_second real;
alter table runs add column p50 real;
alter table runs add column p95 real;
alter table runs add column p99 real;
alter table runs add column error_rate real;
alter table runs add column duration_s real;
alter table runs add column passed integer;
alter table runs add column limited_by text;
alter table runs add column spark text;
alter table runs add column hosts text;
alter table runs add column search text;

-- In the order of lists, with all that they leave runs out by: without it each look at a run walks through its plan, which stands
-- before these columns and can hold megabytes. Takes the place of runs_by_owner.
create index runs_listed on runs (owner_id, queued_at, id, plan_id, state, end_reason, passed, hosts, search);
drop index runs_by_owner;
