-- Public links of runs. A row stays when its link is revoked or its run deleted, so that the link says so. Of each run at most
-- one link is not revoked.
create table shares (
    token        text    not null primary key,
    run_id       blob    references runs (id) on delete set null,
    created_at   integer not null,
    expires_at   integer,
    revoked_at   integer,
    hide_host    integer not null check (hide_host in (0, 1)),
    hide_headers integer not null check (hide_headers in (0, 1)),
    hide_notes   integer not null check (hide_notes in (0, 1))
) strict;

create unique index shares_by_run on shares (run_id) where revoked_at is null;

-- `runs.share_token` is not read any more. Links from before showed no notes.
insert into shares (token, run_id, created_at, hide_host, hide_headers, hide_notes)
select share_token, id, queued_at, 0, 0, 1
from runs
where share_token is not null;

-- The form that a test was made with: sent twice, it makes one test.
alter table plans add column form_id text;

create unique index plans_by_form on plans (owner_id, form_id);
