-- Public links of runs. A row stays when its link is revoked or its run deleted, so that the link says so. Of each run at most
-- one link is not revoked.
create table shares (
    token        text    not null primary key,
    run_id       uuid    references runs (id) on delete set null,
    created_at   bigint not null,
    expires_at   bigint,
    revoked_at   bigint,
    hide_host    boolean not null,
    hide_headers boolean not null,
    hide_notes   boolean not null
);

create unique index shares_by_run on shares (run_id) where revoked_at is null;

-- `runs.share_token` is not read any more. Links from before showed no notes.
insert into shares (token, run_id, created_at, hide_host, hide_headers, hide_notes)
select share_token, id, queued_at, false, false, true
from runs
where share_token is not null;

-- The form that a test was made with: sent twice, it makes one test.
alter table plans add column form_id text;

create unique index plans_by_form on plans (owner_id, form_id);
