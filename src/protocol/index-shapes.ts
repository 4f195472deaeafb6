/** The shapes of index operations: create, list, describe, drop. */
import { checkIndexName } from './identifiers.js'
import { progress } from './job-shapes.js'
import { distanceType } from './query-shapes.js'
import { atVersion, nextPage, onBranch, onTable, paging } from './request-fields.js'
import {
  array,
  boolean,
  enumeration,
  extension,
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

const indexType = enumeration(
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

const language = enumeration([
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
    'Kind of index. Absent: BTREE for scalars, LABEL_LIST for lists. For vectors: IVF_HNSW_SQ if the index takes at most half of cacheBytes, otherwise IVF_PQ.',
  ),
  name: optional(string('nonEmpty', checkIndexName), 'Name of the index; absent: `<column>_idx`.'),
  replace: optional(
    boolean,
    'Whether to replace an index with the same name; the default depends on the dialect.',
  ),
  // vector
  distance_type: optional(
    distanceType,
    'Metric; default l2. hamming requires IVF_FLAT and vectors of uint8.',
    ['metric_type'],
  ),
  num_partitions: optional(
    integer(1, 65_536),
    'IVF partitions; default: about the square root of the number of rows, for HNSW 1.',
  ),
  target_partition_size: optional(
    integer(1, 2 ** 31 - 1),
    'Average number of rows per partition, instead of num_partitions.',
  ),
  num_sub_vectors: optional(integer(1, 65_536), 'PQ: sub-vectors per vector; default dimension / 8.'),
  num_bits: optional(integer(1, 8), 'Bits per code. PQ: 4 or 8 (default); SQ: 8; RQ: 1.'),
  sample_rate: optional(integer(1, 65_536), 'Number of training rows per partition; default 64.'),
  max_iterations: optional(integer(1, 10_000), 'Maximum k-means iterations; default 12.'),
  m: optional(integer(2, 128), 'HNSW: number of edges per node; default 16.'),
  ef_construction: optional(
    integer(1, 10_000),
    'HNSW: size of the candidate list during the build; default 100, more for graphs of more than 2^18 rows (a million: 140).',
  ),
  // full text
  with_position: optional(
    boolean,
    'Whether to store positions of words, which phrase queries need; default false.',
  ),
  base_tokenizer: optional(
    string('nonEmpty'),
    'Tokenizer: `simple` (default), `whitespace`, `raw`, `ngram`, `icu`, or the name of a custom tokenizer.',
  ),
  language: optional(language, 'Language of the stemmer and of the stop words; default English.'),
  max_token_length: optional(
    nullable(integer(0)),
    'Tokens with at least this number of bytes are dropped; default 40. null: no limit.',
  ),
  lower_case: optional(boolean, 'Whether to ignore case; default true.'),
  stem: optional(boolean, 'Whether to reduce words to stems; default true.'),
  remove_stop_words: optional(boolean, 'Whether to drop stop words; default true.'),
  custom_stop_words: optionalEvenEmpty(
    array(string()),
    'Stop words to use instead of the stop words of the language; `[]`: no stop words.',
  ),
  ascii_folding: optional(boolean, 'Whether to ignore accents; default true.'),
  ngram_min_length: optional(integer(1), 'Length of the shortest n-grams, in characters; default 3.', [
    'min_ngram_length',
  ]),
  ngram_max_length: optional(integer(1), 'Length of the longest n-grams, in characters; default 3.', [
    'max_ngram_length',
  ]),
  prefix_only: optional(boolean, 'Whether to keep only n-grams at the start of the text; default false.'),
  block_size: optional(integer(1), '128 or 256. Without effect: Sheaf chooses the size of blocks.'),
  lance_tokenizer: optional(string(), 'Must be `text`; other values are refused.'),
  index_operators: optional(boolean, 'Must be false; true is refused.'),
  preserve_original: optional(boolean, 'Must be false; true is refused.'),
  split_identifiers: optional(boolean, 'Must be false; true is refused.'),
  split_on_numerics: optional(boolean, 'Must be false; true is refused.'),
})
export type CreateIndexRequest = Infer<typeof createIndexRequest>

export const createIndexReply = object({
  transaction_id: optional(
    string(),
    'Id of the commit, which is also the id of the job; absent: no work was needed.',
    ['job_id'],
  ),
  index_name: required(string(), 'Name of the index.'),
})

export const listIndicesRequest = object({ ...onTable, ...onBranch, ...atVersion, ...paging })

const indexStatus = required(
  enumeration(['pending', 'building', 'ready', 'stale', 'failed']),
  '`pending` (queued), `building`, `ready` (all rows are indexed), `stale` (some rows are not indexed), or `failed`.',
)

const failureReason = optional(string(), 'Reason why the build failed.')

const indexRecord = object({
  index_name: required(string(), 'Name of the index.'),
  index_uuid: required(string(), 'UUID of the index. Every rebuild creates a new UUID.'),
  columns: required(
    array(string()),
    'Paths of the indexed columns. A name with characters other than letters, digits and `_` is in backticks.',
  ),
  status: indexStatus,
  index_type: required(indexType, 'Kind of the index.'),
  num_indexed_rows: required(integer(0), 'Live rows in the index.'),
  num_unindexed_rows: required(integer(0), 'Live rows that are not in the index.'),
  num_segments: required(integer(0), 'Number of segments of the index.'),
  size_bytes: required(integer(0), 'Bytes of the files of the index.'),
  created_at: required(string(), 'Time when the index was created, RFC 3339.'),
  index_version: optional(integer(0), 'Version of the format of the index.'),
  index_details: optional(
    string(),
    'Parameters of the index, and the reason of a failed build, as JSON text.',
  ),
  type_url: optional(string(), 'Exact type of the index, in the form of Lance.'),
  reason: failureReason,
})

export const listIndicesReply = object({
  indexes: required(array(indexRecord), 'Indexes, sorted by name.'),
  ...nextPage,
})

const indexName = { index_name: required(string('nonEmpty'), 'Name of the index.') }

export const indexStatsRequest = object({ ...onTable, ...onBranch, ...atVersion, ...indexName })

export const indexStatsReply = object({
  index_type: required(indexType, 'Kind of the index.'),
  distance_type: required(nullable(distanceType), 'Metric of a vector index; null for other indexes.'),
  num_indexed_rows: required(integer(0), 'Live rows in the index.'),
  num_unindexed_rows: required(integer(0), 'Live rows that are not in the index.'),
  num_indices: required(integer(0), 'Number of segments of the index.'),
  status: indexStatus,
  reason: failureReason,
  progress: optional(progress, 'Progress of the build.'),
  recall: extension(
    optional(
      number,
      'Vector index: recall@10 (0 to 1) of a search with default parameters, measured with sampled rows during the build.',
    ),
  ),
  recall_between: extension(
    optional(
      number,
      'Like `recall`, for queries that are points between rows and points away from all rows.',
    ),
  ),
  recall_excluded: extension(
    optional(number, 'Like `recall`, for searches with a filter that excludes the nearest rows.'),
  ),
})

export const dropIndexRequest = object({ ...onTable, ...onBranch, ...indexName })
