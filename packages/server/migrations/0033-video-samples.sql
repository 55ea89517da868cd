-- promptd: compatible
-- Samples may be videos. Of the file; older programs store pictures, all of this type.
alter table prompt_samples add column media_type text not null default 'image/webp';
