/** The indexes of a table as its handle shows them. */
import { ErrorCode, invalidInput, quote, SheafError } from '../errors.js'
import { isScalarKind } from '../indexes/kind.js'
import type { ScalarKind } from '../indexes/scalar/probe.js'
import { textWireNames } from '../indexes/text/definition.js'
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
  /** Default: that of the column, with its dots, and `_idx`. */
  readonly name?: string
  /** Whether it takes the place of another index of that name. Default true. */
  readonly replace?: boolean
  /** Milliseconds to wait until it is built, as `waitForIndex` does. Default: none, the call returns at once. */
  readonly waitTimeoutMs?: number
}

export interface ScalarIndexOptions extends AnyIndexOptions {
  /**
   * What it finds rows by: `BTREE` and `BITMAP` by values and ranges of values, the latter best where there are few of
   * them; `LABEL_LIST` by elements of lists. Default, by the type of the column: `LABEL_LIST` for lists; for vectors `IVF_HNSW_SQ`
   * where that takes no more than half of `cacheBytes`, else `IVF_PQ`; `BTREE` for all others.
   */
  readonly type?: ScalarKind
}

/**
 * All vector indexes divide rows into partitions, each with a centroid near which its rows lie. Elements count as float32s, as in every
 * search: those of float64 lose what that cannot tell.
 */
interface AnyVectorOptions extends AnyIndexOptions {
  /**
   * How near rows are told from far ones; a search by another metric does without the index. Default `l2`; `hamming` is for vectors of
   * uint8 under `IVF_FLAT`.
   */
  readonly distanceType?: Metric
  /** Partitions, 1 to 65,536, at most as many as the table has rows. Default: about the square root of the rows; 1 where a graph joins them. */
  readonly partitions?: number
  /** Rows of a partition on average, instead of `partitions`. */
  readonly targetPartitionSize?: number
  /** Rows for each partition that centroids are looked for with, 1 to 65,536. Default 64. */
  readonly sampleRate?: number
  /** Rounds of that search at most, 1 to 10,000. Default 12. */
  readonly maxIterations?: number
}

interface ProductOptions {
  /** Parts that vectors are cut into, each kept as one code: a divisor of the dimension. Default: an eighth of the dimension, rounded up. */
  readonly subVectors?: number
  /** Bits of a code: 4 or 8 (default). */
  readonly bits?: number
}

interface GraphOptions {
  /** Edges of a row, 2 to 128; more find more, and take more memory. Default 16. */
  readonly m?: number
  /** Rows that are looked at to choose them, 1 to 10,000; more find more, and take longer to build. Default 100, in graphs of more than 2^18 rows more: 140 for a million. */
  readonly efConstruction?: number
}

/** Lists of rows: with their vectors, with a byte for each element, or with a bit. */
export interface VectorListOptions extends AnyVectorOptions {
  readonly type: 'IVF_FLAT' | 'IVF_SQ' | 'IVF_RQ'
}

/** Lists of rows, with codes of the parts of their vectors. */
export interface ProductListOptions extends AnyVectorOptions, ProductOptions {
  readonly type: 'IVF_PQ'
}

/** Graphs of rows: with their vectors, or with a byte for each element. */
export interface VectorGraphOptions extends AnyVectorOptions, GraphOptions {
  readonly type: 'IVF_HNSW_FLAT' | 'IVF_HNSW_SQ'
}

/** Graphs of rows, with codes of the parts of their vectors. */
export interface ProductGraphOptions extends AnyVectorOptions, ProductOptions, GraphOptions {
  readonly type: 'IVF_HNSW_PQ'
}

/** Indexes of vectors, which find rows that are near to one. */
export type VectorIndexOptions =
  | VectorListOptions
  | ProductListOptions
  | VectorGraphOptions
  | ProductGraphOptions
export type VectorIndexType = VectorIndexOptions['type']

/**
 * Indexes of texts, and of lists of texts, which find rows by their words. A text is cut into tokens; what is too long is dropped, the rest
 * lower-cased, made a stem, dropped where that is a stop word, and folded to ASCII, in that order. The words of a query go the same way.
 */
export interface TextIndexOptions extends AnyIndexOptions {
  readonly type: 'FTS'
  /** Whether it is kept where in a text words stand, which phrases need. Default false. */
  readonly withPosition?: boolean
  /**
   * What tokens are: `simple` (default) cuts at white space and punctuation, `whitespace` at white space, `raw` not at all, `ngram` into
   * all parts of so many characters, `icu` into words of languages that do not put spaces between them; or the name of one
   * that `connect` was given.
   */
  readonly baseTokenizer?: string
  /** Of stems and stop words. Default `English`. */
  readonly language?: Language
  /** Tokens of so many bytes of UTF-8 or more are dropped; null: none is. Default 40. */
  readonly maxTokenLength?: number | null
  /** Whether upper and lower case are the same. Default true. */
  readonly lowerCase?: boolean
  /** Whether words count by their stems. Default true, with `ngram` false. */
  readonly stem?: boolean
  /** Whether words are dropped that most texts have. Default true, with `ngram` false. */
  readonly removeStopWords?: boolean
  /** Instead of those of the language. */
  readonly customStopWords?: readonly string[]
  /** Whether letters with accents and without are the same. Default true. */
  readonly asciiFolding?: boolean
  /** Characters of the shortest part, with `ngram`. Default 3. */
  readonly ngramMinLength?: number
  /** Characters of the longest. Default 3. */
  readonly ngramMaxLength?: number
  /** Whether only parts count with which a text begins. Default false. */
  readonly prefixOnly?: boolean
}

/** An index of vectors of the default type. */
interface UsualVectorOptions extends AnyVectorOptions {
  readonly type?: never
}

export type CreateIndexOptions =
  | ScalarIndexOptions
  | VectorIndexOptions
  | TextIndexOptions
  | UsualVectorOptions

/** All that an index of any type may be told; what a type has no use for is refused where its definition is made. */
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
  type: oneOf(
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
  ),
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

export interface WaitForIndexOptions extends CallOptions {
  /** Milliseconds. Default: as long as it takes. */
  readonly timeoutMs?: number
}

export const waitForIndexShape = options<WaitForIndexOptions>()({ timeoutMs: milliseconds, ...callFields })

export interface IndexInfo {
  readonly name: string
  /** New with every definition. */
  readonly uuid: string
  /** Paths of the columns it finds rows by. */
  readonly columns: readonly string[]
  readonly type: string
  /**
   * `pending`: waits to be built; `building`; `ready`: has all rows; `stale`: lacks some, which queries look at one by one, or
   * has terms that cannot be asked for here, as `reason` says then; `failed`: could not be built, `reason` says why.
   */
  readonly status: 'pending' | 'building' | 'ready' | 'stale' | 'failed'
  /** Living rows that it has. */
  readonly indexedRows: number
  /** Living rows that it lacks. */
  readonly unindexedRows: number
  readonly segments: number
  readonly bytes: number
  readonly created: Date
  readonly reason?: string
}

/** How far the construction of an index is: of the `total` rows of a phase, `done`. An index is built in several phases. */
export interface IndexProgress {
  readonly done: number
  readonly total: number
  readonly phase: string
  /** Rows a second since the phase began. Absent in its first second. */
  readonly perSecond?: number
  /** Seconds that the rest of the phase takes at that rate. */
  readonly secondsLeft?: number
}

export interface IndexStats {
  readonly type: string
  /** Of a vector index. */
  readonly distanceType: string | null
  readonly status: IndexInfo['status']
  /** Living rows that it has. */
  readonly indexedRows: number
  /** Living rows that it lacks. */
  readonly unindexedRows: number
  readonly segments: number
  readonly reason?: string
  /** How far its construction is. */
  readonly progress?: IndexProgress
  /** Of a vector index: of the ten nearest rows of sampled rows, the part that a search without tuning finds, measured when it was built. */
  readonly recall?: number
  /** As `recall`, for points between rows and away from rows. */
  readonly recallBetween?: number
  /** As `recall`, for rows whose nearest rows a filter excludes. Absent for a graph that was built without cells. */
  readonly recallExcluded?: number
}

/** A table as far as its indexes are concerned. */
interface Indexed {
  readonly operations: Operations
  readonly id: readonly string[]
  /** Absent where one has to ask. */
  readonly watch: Watch | undefined
}

export async function createIndex(
  { operations, id, watch }: Indexed,
  column: string,
  options: CreateIndexOptions,
): Promise<{ readonly name: string }> {
  const { type, name, replace = true, waitTimeoutMs } = options
  const { said, call } = parted(options)
  if (type !== undefined && isScalarKind(type)) checkNothing(said, type)
  const request = {
    id,
    column,
    replace,
    ...(type !== undefined && { index_type: type }),
    ...(name !== undefined && { name }),
    ...said,
  }
  const { index_name } = await operations.createTableIndex(request, call)
  if (waitTimeoutMs !== undefined) {
    await indexesBuilt({ operations, id, watch }, [index_name], { ...call, timeoutMs: waitTimeoutMs })
  }
  return { name: index_name }
}

/** What is said of vectors or texts, in the words of the wire, and what the call is given. */
function parted(options: CreateIndexOptions): {
  readonly said: Partial<Request<'createTableIndex'>>
  readonly call: CallOptions
} {
  const { type: _, name: _name, replace: _replace, waitTimeoutMs: _wait, ...others } = options
  const said: Record<string, unknown> = {}
  const call: Record<string, unknown> = {}
  for (const [option, value] of Object.entries(others)) {
    const wire = vectorOptions[option] ?? textOptions[option]
    if (wire === undefined) call[option] = value
    else if (value !== undefined) said[wire] = value
  }
  return { said, call }
}

const vectorOptions: Readonly<Record<string, string | undefined>> = {
  distanceType: 'distance_type',
  ...wireNames,
}

const { positions, ngramMin, ngramMax, ...alike } = textWireNames
const textOptions: Readonly<Record<string, string | undefined>> = {
  withPosition: positions,
  ngramMinLength: ngramMin,
  ngramMaxLength: ngramMax,
  ...alike,
}

/** What is said of texts, in the words of the wire. */
export function textFieldsOf(said: Readonly<Record<string, unknown>>): Partial<Request<'createTableIndex'>> {
  const fields = Object.entries(said).flatMap(([option, value]) => {
    const wire = textOptions[option]
    return wire === undefined || value === undefined ? [] : [[wire, value] as const]
  })
  return Object.fromEntries(fields)
}

function checkNothing(said: object, type: ScalarKind): void {
  const saidOf = (options: typeof vectorOptions) =>
    Object.keys(options).find(each => Object.hasOwn(said, options[each]!))
  const ofVectors = saidOf(vectorOptions)
  const option = ofVectors ?? saidOf(textOptions)
  if (option === undefined) return
  throw invalidInput(`a ${type} index has no use for ${option}`, {
    hint:
      ofVectors === undefined
        ? 'it is for indexes of texts: say so in type, FTS'
        : 'it is for indexes of vectors: say which in type, e.g. IVF_PQ',
  })
}

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

/** Returns when none of them waits to be built any more. Throws codes 6, 17 and 19. */
export async function indexesBuilt(
  { operations, id, watch }: Indexed,
  names: readonly string[],
  { timeoutMs, ...options }: WaitForIndexOptions,
): Promise<void> {
  // The key names the call that asked for them.
  const { idempotencyKey: _, ...call } = options
  const { signal, end } =
    timeoutMs === undefined
      ? { signal: call.signal, end: () => {} }
      : deadline(systemClock, timeoutMs, notInTime(names, timeoutMs), call.signal)
  const asked = { ...call, signal }
  try {
    for await (const _ of watch === undefined ? pauses(signal) : watch(asked)) {
      const { indexes } = await operations.listTableIndices({ id }, asked)
      if (names.map(name => isBuilt(indexes, name)).every(Boolean)) return
    }
  } finally {
    end()
  }
}

function isBuilt(indexes: readonly IndexRecord[], name: string): boolean {
  const record = indexes.find(({ index_name }) => index_name === name)
  if (record === undefined) {
    throw new SheafError(ErrorCode.IndexNotFound, `there is no index ${quote(name)} to wait for`)
  }
  if (record.status === 'failed') {
    throw new SheafError(
      ErrorCode.InvalidTableState,
      `index ${quote(name)} could not be built: ${record.reason}`,
      { hint: 'create it again, or drop it' },
    )
  }
  return record.status === 'ready' || record.status === 'stale'
}

function notInTime(names: readonly string[], ms: number): SheafError {
  const what = `index ${names.map(quote).join(', ')}`
  return new SheafError(ErrorCode.ServiceUnavailable, `${what} was not built within ${ms} ms`, {
    hint: 'its construction goes on, and queries do without it until then',
  })
}
