-- promptd: compatible
-- Text of runs while it is written, for who follows it. Unlogged: a lost piece costs a follower nothing but time, since the
-- whole text comes with the end of the run.
create unlogged table run_pieces (
  run_id uuid not null,
  id bigint not null,
  output int not null, -- index among the outputs of the run
  call int not null, -- number of the provider call that wrote it: a higher one starts the output over
  piece text not null,
  written_at timestamptz not null default promptd_now(),
  primary key (run_id, id)
);
create index run_pieces_time on run_pieces (written_at);

-- Logged, so that no id is given out again with other text after a crash of the database.
create sequence run_piece_ids;

-- Runs that somebody follows: a worker streams the text of these alone.
create unlogged table run_followers (
  run_id uuid primary key,
  until timestamptz not null
);
