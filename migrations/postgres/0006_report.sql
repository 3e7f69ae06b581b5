-- Errors of a second by class, and bytes written. 0 in seconds stored before: their errors are of no known class.
alter table samples add column bytes_sent bigint not null default 0;
alter table samples add column status_4xx bigint not null default 0;
alter table samples add column status_5xx bigint not null default 0;
alter table samples add column status_other bigint not null default 0;
alter table samples add column timeout bigint not null default 0;
alter table samples add column network bigint not null default 0;
alter table samples add column invalid bigint not null default 0;
alter table samples add column local bigint not null default 0;
alter table samples add column aborted bigint not null default 0;

-- Of a run that is over: its times as histograms, the few seconds that its charts draw, and what its owner wrote about it.
-- Null in runs that ended before: then they are made of the stored seconds.
alter table runs add column totals bytea;
alter table runs add column overview bytea;
alter table runs add column notes text not null default '';
