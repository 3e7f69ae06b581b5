-- Tests in a list: tags (one a line, a line break before and after), what a search looks through (lower case, the name first;
-- null until the test is first written or looked after by this version), and since when a test is archived.
alter table plans add column tags text not null default '';
alter table plans add column search text;
alter table plans add column archived_at integer;

-- A test as it was before a change, with who changed it and when.
create table plan_versions (
    id         blob    not null primary key,
    plan_id    blob    not null references plans (id) on delete cascade,
    changed_by blob    references users (id) on delete set null,
    changed_at integer not null,
    name       text    not null,
    notes      text    not null,
    tags       text    not null,
    spec       text    not null
) strict;

create index plan_versions_by_plan on plan_versions (plan_id, changed_at);
