/** The indexes of a table: the options of `createIndex`, and the results of `listIndices` and `indexStats`. */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { familyOf, type IndexKind } from '../indexes/kind.js'
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { textWireNames } from '../indexes/text/definition.js'
import { textKind } from '../indexes/text/kind.js'
import { vectorKinds } from '../indexes/vector/kind.js'
import { wireNames } from '../indexes/vector/wire-names.js'
import type { Metric } from '../kernels/metric.js'
import { deadline } from '../primitives/abort.js'
import { systemClock } from '../primitives/clock.js'
import { type CallOptions, callFields, type Operations, type Reply, type Request } from '../protocol/calls.js'
import { createIndexRequest, type Language } from '../protocol/index-shapes.js'
import {
  array,
  boolean,
  exactly,
  given,
  type OptionsShape,
  oneOf,
  options,
  type Shape,
  string,
  withHints,
} from '../protocol/shape.js'
import type { Watch } from './changes.js'
import { pauses } from './job-ended.js'

interface AnyIndexOptions extends CallOptions {
  /** Name of the index. Default: the path of the column, including dots, followed by `_idx`. */
  readonly name?: string
  /**
   * Whether the index replaces another one with the same name. Default true. False: an index with the same definition stays
   * as it is, and an index with another definition is an error.
   */
  readonly replace?: boolean
  /**
   * Maximum wait for the build, in milliseconds, like `timeoutMs` of `waitForIndex`. Default: the call does not wait.
   */
  readonly waitTimeoutMs?: number
}

/**
 * Options of an index on scalars or lists of scalars. Without `type`, also of an index of the column's default type.
 */
export interface ScalarIndexOptions extends AnyIndexOptions {
  /**
   * `BTREE` and `BITMAP` find rows by values and ranges of values; `BITMAP` is best for few distinct values.
   * `LABEL_LIST` finds rows by elements of lists.
   *
   * The default depends on the type of the column: `LABEL_LIST` for lists, and `BTREE` for scalars. For vectors it is
   * `IVF_HNSW_SQ` if this index takes at most half of `cacheBytes`, otherwise `IVF_PQ`.
   */
  readonly type?: ScalarKind
}

/**
 * Options of all vector indexes. A vector index assigns each row to the partition of its nearest centroid. The index
 * converts the elements of vectors to float32, so float64 values lose precision. Searches do the same.
 */
interface AnyVectorOptions extends AnyIndexOptions {
  /**
   * The distance type of the index. A search with another distance type does not use the index. Default `l2`.
   * `hamming` requires vectors of uint8 and the type `IVF_FLAT`.
   */
  readonly distanceType?: Metric
  /**
   * Number of partitions, 1 to 65,536, and at most the number of rows. Default: about the square root of the number of
   * rows; for types with an HNSW graph: 1.
   */
  readonly partitions?: number
  /** Average number of rows per partition, instead of `partitions`. */
  readonly targetPartitionSize?: number
  /** Number of sampled rows per partition on which k-means is trained, 1 to 65,536. Default 64. */
  readonly sampleRate?: number
  /** Maximum number of k-means iterations, 1 to 10,000. Default 12. */
  readonly maxIterations?: number
}

interface ProductOptions {
  /**
   * Number of sub-vectors, which must divide the dimension. Each is stored as one code. Default: dimension / 8, rounded
   * up.
   */
  readonly subVectors?: number
  /** Bits per code: 4 or 8 (default). */
  readonly bits?: number
}

interface GraphOptions {
  /** Edges per row in the graph, 2 to 128. More edges give better recall and take more memory. Default 16. */
  readonly m?: number
  /**
   * Number of candidates from which the edges of a row are chosen, 1 to 10,000. More candidates give better recall and
   * a slower build. Default 100. In graphs of more than 2^18 rows the default is larger (140 for a million rows).
   */
  readonly efConstruction?: number
}

/** Indexes with a list of vectors per partition, stored as full vectors, one byte per element (SQ) or one bit (RQ). */
export interface VectorListOptions extends AnyVectorOptions {
  readonly type: 'IVF_FLAT' | 'IVF_SQ' | 'IVF_RQ'
}

/** Indexes with a list of vectors per partition, stored with product quantization (PQ). */
export interface ProductListOptions extends AnyVectorOptions, ProductOptions {
  readonly type: 'IVF_PQ'
}

/** Indexes with an HNSW graph per partition. Vectors are stored as full vectors or one byte per element (SQ). */
export interface VectorGraphOptions extends AnyVectorOptions, GraphOptions {
  readonly type: 'IVF_HNSW_FLAT' | 'IVF_HNSW_SQ'
}

/** Indexes with an HNSW graph per partition. Vectors are stored with product quantization (PQ). */
export interface ProductGraphOptions extends AnyVectorOptions, ProductOptions, GraphOptions {
  readonly type: 'IVF_HNSW_PQ'
}

/** Options of a vector index, which finds rows near a vector. */
export type VectorIndexOptions =
  | VectorListOptions
  | ProductListOptions
  | VectorGraphOptions
  | ProductGraphOptions
/** The types of vector indexes. */
export type VectorIndexType = VectorIndexOptions['type']

/**
 * Options of a text index, which finds rows by words, in columns of texts or of lists of texts. The words of a query
 * are analyzed in the same way as the texts. The analyzer runs these steps, in this order:
 * - cut a text into tokens, and drop tokens that are too long;
 * - lower-case and stem the tokens;
 * - drop stop words, and fold characters to ASCII.
 */
export interface TextIndexOptions extends AnyIndexOptions {
  readonly type: 'FTS'
  /** Whether to store positions of words, which phrase queries need. Default false. */
  readonly withPosition?: boolean
  /**
   * Tokenizer, which cuts a text into tokens:
   * - `simple` (default) splits at white space and punctuation;
   * - `whitespace` splits at white space;
   * - `raw` does not split;
   * - `ngram` makes all substrings of `ngramMinLength` to `ngramMaxLength` characters;
   * - `icu` finds words also in languages without spaces between words;
   * - another name is a custom tokenizer that was passed to `connect`.
   */
  readonly baseTokenizer?: string
  /** Language of the stemmer and of the stop words. Default `English`. */
  readonly language?: Language
  /** Tokens with at least this number of UTF-8 bytes are dropped. Null: no token is dropped. Default 40. */
  readonly maxTokenLength?: number | null
  /** Whether to ignore case. Default true. */
  readonly lowerCase?: boolean
  /** Whether to stem words. Default true; with the tokenizer `ngram`, false. */
  readonly stem?: boolean
  /** Whether to drop stop words. Default true; with the tokenizer `ngram`, false. */
  readonly removeStopWords?: boolean
  /** Stop words to use instead of the stop words of the language. */
  readonly customStopWords?: readonly string[]
  /** Whether to ignore accents. Default true. */
  readonly asciiFolding?: boolean
  /** Length of the shortest n-grams, in characters. Default 3. */
  readonly ngramMinLength?: number
  /** Length of the longest n-grams, in characters. Default 3. */
  readonly ngramMaxLength?: number
  /** Whether to index only n-grams at the beginning of the text. Default false. */
  readonly prefixOnly?: boolean
}

/** Options of a vector index of the default type. */
interface DefaultVectorOptions extends AnyVectorOptions {
  readonly type?: never
}

/** Options of `createIndex`. `type` decides which options are allowed. */
export type CreateIndexOptions =
  | ScalarIndexOptions
  | VectorIndexOptions
  | TextIndexOptions
  | DefaultVectorOptions

/** The options of all types of index. `createIndex` refuses options that the type does not have. */
type AnyCreateIndexOptions = {
  readonly [K in CreateIndexOptions extends infer O
    ? O extends unknown
      ? keyof O
      : never
    : never]?: OptionValue<CreateIndexOptions, K>
}

type OptionValue<O, K> = O extends { readonly [P in K & PropertyKey]?: infer V } ? V : never

const { fields } = createIndexRequest

export const textFields = {
  baseTokenizer: fields.base_tokenizer.shape,
  language: exactly(fields.language.shape),
  maxTokenLength: fields.max_token_length.shape,
  lowerCase: boolean,
  stem: boolean,
  removeStopWords: boolean,
  customStopWords: array(string()),
  asciiFolding: boolean,
  ngramMinLength: fields.ngram_min_length.shape,
  ngramMaxLength: fields.ngram_max_length.shape,
  prefixOnly: boolean,
}

const milliseconds = given<number>(
  'a number of milliseconds >= 0',
  value => Number.isFinite(value) && Number(value) >= 0,
)

const anyIndexShape = options<AnyCreateIndexOptions>()({
  type: oneOf('BTREE', 'BITMAP', 'LABEL_LIST', textKind, ...vectorKinds),
  name: string('nonEmpty'),
  replace: boolean,
  waitTimeoutMs: milliseconds,
  distanceType: exactly(fields.distance_type.shape),
  partitions: fields.num_partitions.shape,
  targetPartitionSize: fields.target_partition_size.shape,
  sampleRate: fields.sample_rate.shape,
  maxIterations: fields.max_iterations.shape,
  subVectors: fields.num_sub_vectors.shape,
  bits: fields.num_bits.shape,
  m: fields.m.shape,
  efConstruction: fields.ef_construction.shape,
  withPosition: boolean,
  ...textFields,
  ...callFields,
})

export const createIndexShape = withHints(anyIndexShape, {
  metric: 'distanceType',
  metricType: 'distanceType',
  numPartitions: 'partitions',
  numSubVectors: 'subVectors',
  numBits: 'bits',
  config: 'type',
}) as Shape<CreateIndexOptions> & OptionsShape

/** Options of `Table.waitForIndex`. */
export interface WaitForIndexOptions extends CallOptions {
  /** Maximum wait in milliseconds. Default: no limit. */
  readonly timeoutMs?: number
  /**
   * - `build` (default): wait until the index is built;
   * - `all`: wait until the index covers all rows, including rows that were added after the build.
   */
  readonly covers?: 'build' | 'all'
}

export const waitForIndexShape = options<WaitForIndexOptions>()({
  timeoutMs: milliseconds,
  covers: oneOf('build', 'all'),
  ...callFields,
})

/** An index of a table, as `listIndices` reports it. */
export interface IndexInfo {
  readonly name: string
  /** UUID of the definition of the index. An index that replaces another index has a new UUID. */
  readonly uuid: string
  /** Paths of the indexed columns. */
  readonly columns: readonly string[]
  /** Type of the index, for example `BTREE` or `IVF_PQ`. */
  readonly type: string
  /**
   * - `pending`: the build is queued;
   * - `building`: the build is running;
   * - `ready`: the index covers all rows;
   * - `stale`: some rows are unindexed, and queries read these rows one by one; or the text analyzer of this process
   *   differs from the analyzer that built the index, so that queries cannot use the index (see `reason`);
   * - `failed`: the build failed (see `reason`).
   */
  readonly status: 'pending' | 'building' | 'ready' | 'stale' | 'failed'
  /** Live rows that the index covers. */
  readonly indexedRows: number
  /** Live rows that the index does not cover. */
  readonly unindexedRows: number
  /** Number of segments. Maintenance adds segments for new rows, and merges segments. */
  readonly segments: number
  /** Size of the segments in bytes. */
  readonly bytes: number
  readonly created: Date
  /** Reason of the status `failed` or `stale`. Absent if an index is `stale` only because of unindexed rows. */
  readonly reason?: string
}

/** Progress of the current phase of an index build. A build has several phases. */
export interface IndexProgress {
  /** Number of rows that the phase has processed. */
  readonly done: number
  /** Number of rows that the phase must process. */
  readonly total: number
  /** Name of the phase. */
  readonly phase: string
  /** Rows per second since the phase began. Absent in the first second of a phase. */
  readonly perSecond?: number
  /** Estimated seconds until the end of the phase, at that rate. */
  readonly secondsLeft?: number
}

/** Coverage, build progress and measured recall of an index. */
export interface IndexStats {
  readonly type: string
  /** Distance type of a vector index. Null for indexes on scalars and texts. */
  readonly distanceType: string | null
  readonly status: IndexInfo['status']
  /** Live rows that the index covers. */
  readonly indexedRows: number
  /** Live rows that the index does not cover. */
  readonly unindexedRows: number
  readonly segments: number
  /** Reason of the status `failed` or `stale`. Absent if an index is `stale` only because of unindexed rows. */
  readonly reason?: string
  /** Progress of the build, while the index is being built. */
  readonly progress?: IndexProgress
  /**
   * Recall@10 of searches with default options, 0 to 1, measured when the index was built. The queries are sampled
   * rows. Vector indexes only.
   */
  readonly recall?: number
  /** Recall@10, 0 to 1, for queries that are points between rows and points away from all rows. */
  readonly recallBetween?: number
  /**
   * Recall@10, 0 to 1, of searches whose filter excludes the rows nearest to the query. Absent if the sampled rows form
   * fewer than two groups, because the filter excludes one group.
   */
  readonly recallExcluded?: number
}

/** The table to which the functions of this file apply. */
interface IndexedTable {
  readonly operations: Operations
  readonly id: readonly string[]
  /** Function that reports new commits. Absent: the client must poll. */
  readonly watch: Watch | undefined
}

/** Create an index, and wait for it if `waitTimeoutMs` is set. */
export async function createIndex(
  { operations, id, watch }: IndexedTable,
  column: string,
  options: CreateIndexOptions,
): Promise<{ readonly name: string }> {
  const { type, name, replace = true, waitTimeoutMs } = options
  const { wireFields, call } = splitOptions(options)
  if (type !== undefined) refuseOtherFields(wireFields, type)
  const request = {
    id,
    column,
    replace,
    ...(type !== undefined && { index_type: type }),
    ...(name !== undefined && { name }),
    ...wireFields,
  }
  const { index_name } = await operations.createTableIndex(request, call)
  if (waitTimeoutMs !== undefined) {
    await indexesBuilt({ operations, id, watch }, [index_name], { ...call, timeoutMs: waitTimeoutMs })
  }
  return { name: index_name }
}

/** Split the options into wire fields of the index and options of the call. */
function splitOptions(options: CreateIndexOptions): {
  readonly wireFields: Partial<Request<'createTableIndex'>>
  readonly call: CallOptions
} {
  const { type: _, name: _name, replace: _replace, waitTimeoutMs: _wait, ...others } = options
  const wireFields: Record<string, unknown> = {}
  const call: Record<string, unknown> = {}
  for (const [option, value] of Object.entries(others)) {
    const wire = vectorOptions[option] ?? textOptions[option]
    if (wire === undefined) call[option] = value
    else if (value !== undefined) wireFields[wire] = value
  }
  return { wireFields, call }
}

const vectorOptions: Readonly<Record<string, string | undefined>> = {
  distanceType: 'distance_type',
  ...wireNames,
}

const { positions, ngramMin, ngramMax, ...sameNames } = textWireNames
const textOptions: Readonly<Record<string, string | undefined>> = {
  withPosition: positions,
  ngramMinLength: ngramMin,
  ngramMaxLength: ngramMax,
  ...sameNames,
}

/** Return the options of a text index as wire fields. */
export function textFieldsOf(
  wireFields: Readonly<Record<string, unknown>>,
): Partial<Request<'createTableIndex'>> {
  const fields = Object.entries(wireFields).flatMap(([option, value]) => {
    const wire = textOptions[option]
    return wire === undefined || value === undefined ? [] : [[wire, value] as const]
  })
  return Object.fromEntries(fields)
}

/** Throw `InvalidInput` for an option of a vector index or a text index with another type of index. */
function refuseOtherFields(wireFields: object, type: IndexKind): void {
  const family = familyOf(type)
  const firstFieldOf = (options: typeof vectorOptions) =>
    Object.keys(options).find(each => Object.hasOwn(wireFields, options[each]!))
  const vectorOption = family === 'vector' ? undefined : firstFieldOf(vectorOptions)
  const option = vectorOption ?? (family === 'text' ? undefined : firstFieldOf(textOptions))
  if (option === undefined) return
  throw invalidInput(
    `createIndex: ${family === 'scalar' ? 'a' : 'an'} ${type} index has no use for ${option}`,
    {
      hint: `it is for ${vectorOption === undefined ? 'text indexes: set type to FTS' : 'vector indexes: set type, for example to IVF_PQ'}`,
    },
  )
}

/** List the indexes of a version. */
export async function indexesAt(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number },
  call: CallOptions,
): Promise<readonly IndexInfo[]> {
  return (await operations.listTableIndices(at, call)).indexes.map(infoOf)
}

type IndexRecord = Reply<'listTableIndices'>['indexes'][number]

function infoOf(record: IndexRecord): IndexInfo {
  return {
    name: record.index_name,
    uuid: record.index_uuid,
    columns: record.columns,
    type: record.index_type,
    status: record.status,
    indexedRows: record.num_indexed_rows,
    unindexedRows: record.num_unindexed_rows,
    segments: record.num_segments,
    bytes: record.size_bytes,
    created: new Date(record.created_at),
    ...(record.reason !== undefined && { reason: record.reason }),
  }
}

/** Return the coverage and the build progress of an index. */
export async function indexStatsAt(
  operations: Operations,
  at: { readonly id: readonly string[]; readonly version?: number; readonly index_name: string },
  call: CallOptions,
): Promise<IndexStats> {
  const reply = await operations.describeTableIndexStats(at, call)
  return {
    type: reply.index_type,
    distanceType: reply.distance_type,
    status: reply.status,
    indexedRows: reply.num_indexed_rows,
    unindexedRows: reply.num_unindexed_rows,
    segments: reply.num_indices,
    ...(reply.reason !== undefined && { reason: reply.reason }),
    ...(reply.progress !== undefined && { progress: progressOf(reply.progress) }),
    ...(reply.recall !== undefined && { recall: reply.recall }),
    ...(reply.recall_between !== undefined && { recallBetween: reply.recall_between }),
    ...(reply.recall_excluded !== undefined && { recallExcluded: reply.recall_excluded }),
  }
}

function progressOf({
  per_second,
  seconds_left,
  ...steps
}: NonNullable<Reply<'describeTableIndexStats'>['progress']>): IndexProgress {
  if (per_second === undefined || seconds_left === undefined) return steps
  return { ...steps, perSecond: per_second, secondsLeft: seconds_left }
}

/**
 * Wait until all of the indexes are built. With `covers: 'all'`, wait until they also cover all rows. Throws
 * `IndexNotFound`, `InvalidTableState` for a failed build, and `ServiceUnavailable` after `timeoutMs` milliseconds.
 */
export async function indexesBuilt(
  { operations, id, watch }: IndexedTable,
  names: readonly string[],
  { timeoutMs, covers = 'build', ...options }: WaitForIndexOptions,
): Promise<void> {
  // Leave out the idempotency key: it applies to the call that created the indexes.
  const { idempotencyKey: _, ...call } = options
  const { signal, end } =
    timeoutMs === undefined
      ? { signal: call.signal, end: () => {} }
      : deadline(systemClock, timeoutMs, buildTimeout(names, timeoutMs, covers), call.signal)
  const pollOptions = { ...call, signal }
  try {
    for await (const _ of watch === undefined ? pauses(signal) : watch(pollOptions)) {
      const { indexes } = await operations.listTableIndices({ id }, pollOptions)
      if (names.map(name => isDone(indexes, name, covers)).every(Boolean)) return
    }
  } finally {
    end()
  }
}

function isDone(indexes: readonly IndexRecord[], name: string, covers: 'build' | 'all'): boolean {
  const record = indexes.find(({ index_name }) => index_name === name)
  if (record === undefined) {
    throw new SheafError(
      ErrorCode.IndexNotFound,
      `cannot wait for index ${quote(name)}: the table has no index with this name`,
    )
  }
  if (record.status === 'failed') {
    throw new SheafError(
      ErrorCode.InvalidTableState,
      `index ${quote(name)} could not be built: ${record.reason}`,
      { hint: 'create the index again, or drop it' },
    )
  }
  const isBuilt = record.status === 'ready' || record.status === 'stale'
  return isBuilt && (covers === 'build' || record.num_unindexed_rows === 0)
}

function buildTimeout(names: readonly string[], ms: number, covers: 'build' | 'all'): SheafError {
  const what = `index ${names.map(quote).join(', ')}`
  const isMissing = covers === 'build' ? 'was not built' : 'did not cover all rows'
  return new SheafError(ErrorCode.ServiceUnavailable, `${what} ${isMissing} within ${ms} ms`, {
    hint: 'the build continues; until it ends, queries read unindexed rows one by one',
  })
}
