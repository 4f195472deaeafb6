/** Indexes: create, list, describe, drop. */
import { checkIndexName } from './identifiers.js'
import { progress } from './job-shapes.js'
import { distanceType } from './query-shapes.js'
import { atVersion, nextPage, onBranch, onTable, paging } from './request-fields.js'
import {
  array,
  boolean,
  enumeration,
  type Infer,
  integer,
  nullable,
  number,
  object,
  optional,
  optionalEvenEmpty,
  required,
  string,
} from './shape.js'

export const indexType = enumeration(
  [
    'BTREE',
    'BITMAP',
    'LABEL_LIST',
    'FTS',
    'IVF_FLAT',
    'IVF_SQ',
    'IVF_PQ',
    'IVF_RQ',
    'IVF_HNSW_FLAT',
    'IVF_HNSW_SQ',
    'IVF_HNSW_PQ',
    'FM',
    'NGRAM',
    'ZONE_MAP',
    'BLOOM_FILTER',
    'RTREE',
  ],
  { INVERTED: 'FTS', FMINDEX: 'FM' },
)
export type IndexType = Infer<typeof indexType>

export const language = enumeration([
  'Arabic',
  'Danish',
  'Dutch',
  'English',
  'Finnish',
  'French',
  'German',
  'Greek',
  'Hungarian',
  'Italian',
  'Norwegian',
  'Portuguese',
  'Romanian',
  'Russian',
  'Spanish',
  'Swedish',
  'Tamil',
  'Turkish',
])
export type Language = Infer<typeof language>

export const createIndexRequest = object({
  ...onTable,
  ...onBranch,
  column: required(string('nonEmpty'), 'Column to index.'),
  index_type: optional(
    indexType,
    'Kind of index. Absent: BTREE, LABEL_LIST of lists; of vectors IVF_HNSW_SQ where that takes no more than half of cacheBytes, else IVF_PQ.',
  ),
  name: optional(string('nonEmpty', checkIndexName), 'Its name; absent: `<column>_idx`.'),
  replace: optional(boolean, 'Whether to replace an index of that name; the default depends on the dialect.'),
  // vector
  distance_type: optional(distanceType, 'Metric; default l2. hamming is for IVF_FLAT on uint8.', [
    'metric_type',
  ]),
  num_partitions: optional(
    integer(1, 65_536),
    'IVF partitions; default the square root of the rows, with HNSW 1.',
  ),
  target_partition_size: optional(integer(1, 2 ** 31 - 1), 'Rows per partition, instead of num_partitions.'),
  num_sub_vectors: optional(integer(1, 65_536), 'PQ: parts of a vector; default dimension / 8.'),
  num_bits: optional(integer(1, 8), 'Bits per code. PQ: 4 or 8 (default); SQ: 8; RQ: 1.'),
  sample_rate: optional(integer(1, 65_536), 'Training rows per partition; default 64.'),
  max_iterations: optional(integer(1, 10_000), 'Most k-means rounds; default 12.'),
  m: optional(integer(2, 128), 'HNSW: edges per node; default 16.'),
  ef_construction: optional(
    integer(1, 10_000),
    'HNSW: candidates while building; default 100, in graphs of more than 2^18 rows more: 140 for a million.',
  ),
  // full text
  with_position: optional(boolean, 'Whether to keep positions, for phrases; default false.'),
  base_tokenizer: optional(
    string('nonEmpty'),
    '`simple` (default), `whitespace`, `raw`, `ngram`, `icu`, or one that is registered.',
  ),
  language: optional(language, 'For stems and stop words; default English.'),
  max_token_length: optional(
    nullable(integer(0)),
    'Tokens with so many bytes or more are dropped; default 40. Null: none is.',
  ),
  lower_case: optional(boolean, 'Whether case does not matter; default true.'),
  stem: optional(boolean, 'Whether to reduce words to stems; default true.'),
  remove_stop_words: optional(boolean, 'Whether to drop frequent words; default true.'),
  custom_stop_words: optionalEvenEmpty(
    array(string()),
    "Words to drop instead of the language's; `[]`: none.",
  ),
  ascii_folding: optional(boolean, 'Whether accents do not matter; default true.'),
  ngram_min_length: optional(integer(1), 'Shortest n-gram; default 3.', ['min_ngram_length']),
  ngram_max_length: optional(integer(1), 'Longest n-gram; default 3.', ['max_ngram_length']),
  prefix_only: optional(boolean, 'Whether to keep only n-grams at the start of the text; default false.'),
  block_size: optional(integer(1), '128 or 256, and means nothing here: blocks are as large as suits them.'),
  lance_tokenizer: optional(string(), '`text`: how documents of Lance are read. Others are refused.'),
  index_operators: optional(boolean, 'false; true is refused.'),
  preserve_original: optional(boolean, 'false; true is refused.'),
  split_identifiers: optional(boolean, 'false; true is refused.'),
  split_on_numerics: optional(boolean, 'false; true is refused.'),
})
export type CreateIndexRequest = Infer<typeof createIndexRequest>

export const createIndexReply = object({
  transaction_id: optional(string(), 'The commit, which is a job; absent: there was nothing to do.', [
    'job_id',
  ]),
  index_name: required(string(), 'Its name.'),
})

export const listIndicesRequest = object({ ...onTable, ...onBranch, ...atVersion, ...paging })

const indexStatus = required(
  enumeration(['pending', 'building', 'ready', 'stale', 'failed']),
  'Queued, under construction, complete, lacking rows, or given up.',
)

const failureReason = optional(string(), 'Why it failed.')

const indexRecord = object({
  index_name: required(string(), 'Name.'),
  index_uuid: required(string(), 'Identity; new with every rebuild.'),
  columns: required(
    array(string()),
    'Paths of the columns it covers; names of more than letters, digits and `_` in backticks.',
  ),
  status: indexStatus,
  index_type: required(indexType, 'Kind.'),
  num_indexed_rows: required(integer(0), 'Live rows it covers.'),
  num_unindexed_rows: required(integer(0), 'Live rows it lacks.'),
  num_segments: required(integer(0), 'Parts it is made of.'),
  size_bytes: required(integer(0), 'Bytes on disk.'),
  created_at: required(string(), 'When it was created, RFC 3339.'),
  index_version: optional(integer(0), 'Version of its format.'),
  index_details: optional(string(), 'Its parameters, and why it failed, JSON text.'),
  type_url: optional(string(), 'Precise type.'),
  reason: failureReason,
})
export type IndexRecord = Infer<typeof indexRecord>

export const listIndicesReply = object({
  indexes: required(array(indexRecord), 'Indexes by name.'),
  ...nextPage,
})

const indexName = { index_name: required(string('nonEmpty'), 'Name of the index.') }

export const indexStatsRequest = object({ ...onTable, ...onBranch, ...atVersion, ...indexName })

export const indexStatsReply = object({
  index_type: required(indexType, 'Kind.'),
  distance_type: required(nullable(distanceType), 'Metric of a vector index, else null.'),
  num_indexed_rows: required(integer(0), 'Live rows it covers.'),
  num_unindexed_rows: required(integer(0), 'Live rows it lacks.'),
  num_indices: required(integer(0), 'Parts it is made of.'),
  status: indexStatus,
  reason: failureReason,
  progress: optional(progress, 'How far its construction is.'),
  recall: optional(
    number,
    'Vector index: of the ten nearest rows of sampled rows, the part that a search without tuning finds, as measured when it was built. An extension of Sheaf.',
  ),
  recall_between: optional(
    number,
    'As recall, for points between rows and away from rows. An extension of Sheaf.',
  ),
  recall_excluded: optional(
    number,
    'As recall, for rows whose nearest rows a filter excludes. An extension of Sheaf.',
  ),
})

export const dropIndexRequest = object({ ...onTable, ...onBranch, ...indexName })
