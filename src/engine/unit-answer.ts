/** Answers the sub-queries of other nodes, and converts answers to Arrow data and back. */
import type { Batch, Column, Values } from '../arrow/column.js'
import { decodeIpc } from '../arrow/decode-ipc.js'
import type { DataType, Schema } from '../arrow/types.js'
import { ReadRows } from '../client/arrow-rows.js'
import { invalidInput } from '../errors.js'
import type { Layout } from '../manifest/layout.js'
import { Pacer } from '../primitives/pacer.js'
import { runTask } from '../primitives/task.js'
import { type ArrowReply, parseRequest, type Request } from '../protocol/calls.js'
import { binding, hasExpressions } from '../query/binding.js'
import { planQuery } from '../query/plan-query.js'
import { RowSource } from '../query/source.js'
import { searchUnit } from '../query/spread.js'
import type { TextStatistics, UnitAnswer, UnitQuery, UnitRows } from '../query/units.js'
import type { Engine } from '../root/engine.js'
import { readerOf } from '../root/open-table.js'
import { type UnitToken, unitForm } from './unit-token.js'

/** Key in the metadata of an answer. The value is the head of the answer as JSON. */
const headKey = 'sheaf:unit'

/** Facts about an answer. */
interface Head extends Pick<UnitQuery, 'search' | 'unit'> {
  /** Time of the search, milliseconds. */
  readonly ms: number
  /** The result of the query `statistics`. */
  readonly statistics?: TextStatistics
}

const uint32: DataType = { kind: 'int', bits: 32, signed: false }
const float32: DataType = { kind: 'float', bits: 32 }
const fields = [
  { name: 'fragment', type: uint32, nullable: false },
  { name: 'offset', type: uint32, nullable: false },
  { name: 'value', type: float32, nullable: false },
]

/** Run a sub-query. It is never sent on to another node. */
export async function answerUnit(
  engine: Engine,
  token: UnitToken,
  signal: AbortSignal | undefined,
): Promise<ArrowReply> {
  const { form, version, query, now } = token
  if (form !== unitForm) {
    throw invalidInput(`the sub-query has the form ${form}, but this node reads only the form ${unitForm}`, {
      hint: 'run the same release of Sheaf on all nodes',
    })
  }
  const { clock, versions, source: tables } = engine
  const begun = clock.elapsed()
  // Another node may have committed the version after this process read the log. A known version never changes.
  if (versions.layouts.known?.(token, version) === undefined) await engine.root.refresh(signal)
  const { reader } = await readerOf(engine, token, version, signal)
  const request = parseRequest(
    'queryTable',
    { ...JSON.parse(token.request), id: token.id },
    {},
  ) as Request<'queryTable'>
  const bind = hasExpressions(request) ? await binding() : null
  const plan = planQuery(
    request,
    reader.schema,
    bind,
    { ...clock, now: () => now },
    {
      vectors: reader.vectorIndexes,
      texts: reader.textIndexes,
      analyzer: options => tables.analyzers.open(options),
    },
  )
  const pacer = new Pacer(signal)
  const answer = await runTask(searchUnit(plan, query, new RowSource(reader, pacer), pacer))
  return written(version, query, answer, clock.elapsed() - begun)
}

function written(version: number, { search, unit }: UnitQuery, answer: UnitAnswer, ms: number): ArrowReply {
  const isRows = 'offsets' in answer
  const head: Head = { search, unit, ms, ...(!isRows && { statistics: answer }) }
  const schema: Schema = { fields, metadata: { [headKey]: JSON.stringify(head) } }
  if (!isRows) return new ReadRows(version, schema, [])
  const { fragments, offsets, values } = answer
  const columns = [column(uint32, fragments), column(uint32, offsets), column(float32, values)]
  const batch: Batch = { schema, length: offsets.length, columns }
  return new ReadRows(version, schema, [batch])
}

function column(type: DataType, values: Exclude<Values, BigInt64Array | BigUint64Array>): Column {
  const { length } = values
  return { type, length, nullCount: 0, validity: null, values, offsets: null, children: [], dictionary: null }
}

/** The answer of another node. */
interface ReadUnit {
  readonly answer: UnitAnswer
  /** Time of the search in the node, milliseconds. */
  readonly ms: number
}

/** Read the answer to a sub-query. `layout`: the searched version. Throws if it is not a valid answer to `query`. */
export function readUnit(bytes: Uint8Array, { search, unit }: UnitQuery, layout: Layout): ReadUnit {
  const { schema, batches } = decodeIpc(bytes)
  const head = JSON.parse(schema.metadata?.[headKey] ?? '{}') as Head
  if (head.search !== search || head.unit !== unit) throw new Error('the answer belongs to another sub-query')
  const { ms, statistics } = head
  if (search === 'statistics') return { answer: statistics!, ms }
  const [batch = { columns: [], length: 0 }] = batches
  const values = (i: number) => batch.columns[i]?.values?.subarray(0, batch.length)
  const answer = {
    fragments: (values(0) ?? new Uint32Array(0)) as Uint32Array,
    offsets: (values(1) ?? new Uint32Array(0)) as Uint32Array,
    values: (values(2) ?? new Float32Array(0)) as Float32Array,
  } satisfies UnitRows
  const isValid = answer.offsets.every(
    (offset, i) => offset < (layout.fragments[answer.fragments[i]!]?.rows ?? 0),
  )
  if (!isValid || batches.length > 1) throw new Error('the answer has a row that the version does not have')
  return { answer, ms }
}
