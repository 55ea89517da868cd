-- promptd: compatible
-- An operator's decisions. A blocked prompt is unpublished too, which older programs respect; where both moments are equal,
-- the block has unpublished it, and lifting the block publishes it again.
alter table prompts
  add column blocked_at timestamptz,
  add column block_reason text,
  add column featured_at timestamptz;
