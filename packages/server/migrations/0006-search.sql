-- promptd: compatible
-- Search. A row in search_docs exists exactly while the prompt can be found: it is written in the publishing and
-- deleted in the unpublishing transaction. Only public fields are here: title, description, tags, input names.
create table search_docs (
  doc int generated always as identity primary key,
  prompt_id uuid not null unique,
  prompt_version_id uuid not null,
  title text not null,
  description text not null,
  tags text[] not null,
  input_names text[] not null,
  words text[] collate "C" not null,        -- what this document adds to search_vocab, so that it can be taken back
  title_words text[] collate "C" not null,
  len real not null,                        -- sum of tf over its terms
  analyser int not null,                    -- version of the analyser that made all this
  content_hash bytea not null               -- of the fields and the analyser's version
);
create index search_docs_analyser on search_docs (analyser);

-- tf and len instead of a finished impact: the average length moves with every publish, and nothing needs recomputing.
-- Both are in the index, so that the query never visits the table once it is vacuumed.
create table search_postings (
  term text collate "C" not null,
  doc int not null references search_docs on delete cascade,
  tf real not null,
  len real not null,
  primary key (term, doc) include (tf, len)
) with (autovacuum_vacuum_insert_scale_factor = 0.02, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
create index search_postings_doc on search_postings (doc);

create table search_terms (
  term text collate "C" primary key,
  df int not null check (df >= 0)
);

-- Words as written, for the speller: a draft's words are never here.
create table search_vocab (
  word text collate "C" primary key,
  n int not null check (n >= 0),
  n_title int not null check (n_title >= 0)
);

create table search_embedders (
  embedder text collate "C" primary key,
  dims int not null check (dims > 0),
  model text collate "C",                   -- that is asked for its vectors; null: the built-in tables
  wanted_at timestamptz not null default promptd_now(), -- a process that is set to it said so last
  state text collate "C" not null check (state in ('building', 'active', 'retired')),
  retired_at timestamptz,
  check ((state = 'retired') = (retired_at is not null))
);
create unique index search_embedders_one_active on search_embedders ((true)) where state = 'active';

create table search_embeddings (
  embedder text collate "C" not null references search_embedders on delete cascade,
  doc int not null references search_docs on delete cascade,
  vec bytea not null,                       -- float32, little endian, unit length
  primary key (embedder, doc)
);
create index search_embeddings_doc on search_embeddings (doc);

-- What the processes have to read again. xid and not id is the cursor: ids are drawn before the commit, so a reader
-- that has seen id 8 may still be owed id 7.
create table search_changes (
  id bigint generated always as identity primary key,
  xid xid8 not null default pg_current_xact_id(),
  doc int not null,
  terms text[] collate "C" not null,
  words text[] collate "C" not null,
  at timestamptz not null default promptd_now()
);
create index search_changes_xid on search_changes (xid);
create index search_changes_at on search_changes (at);
