-- The run that the others of a test are compared with. Rows that refer to a run are looked for whenever one is deleted.
alter table plans add column baseline_run_id uuid references runs (id) on delete set null;

create index plans_by_baseline on plans (baseline_run_id);
