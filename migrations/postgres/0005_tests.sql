-- Tests in a list: tags (one a line, a line break before and after), what a search looks through (lower case, the name first;
-- null until the test is first written or looked after by this version), and since when a test is archived.
-- Sorted by bytes, as SQLite does.
alter table plans add column tags text not null default '';
alter table plans add column search text collate "C";
alter table plans add column archived_at bigint;

-- A test as it was before a change, with who changed it and when.
create table plan_versions (
    id         uuid   not null primary key,
    plan_id    uuid   not null references plans (id) on delete cascade,
    changed_by uuid   references users (id) on delete set null,
    changed_at bigint not null,
    name       text   not null,
    notes      text   not null,
    tags       text   not null,
    spec       text   not null
);

create index plan_versions_by_plan on plan_versions (plan_id, changed_at);
