/** Rows of calls that have an idempotency key: their digest is a part of the fingerprint that such a call is known by. */
import type { Batch } from '../arrow/column.js'
import { schemaToJson } from '../arrow/schema-json.js'
import type { Schema } from '../arrow/types.js'
import { tableNamed } from '../catalog/lookup.js'
import type { CatalogOp } from '../catalog/ops.js'
import { latestOf } from '../catalog/state.js'
import { readBody } from '../client/arrow-rows.js'
import { hasNumber } from '../manifest/runs.js'
import { Pacer } from '../primitives/pacer.js'
import { type CallKey, canonicalJson } from '../protocol/call-key.js'
import type { ArrowBody, HandlerOptions } from '../protocol/calls.js'
import type { OperationName } from '../protocol/operations.js'
import { type Engine, openVersion, schemaOf } from '../root/engine.js'
import { conformBatches, fittingSchema, schemaOfTable } from '../write/conform.js'
import { RowsDigest } from '../write/rows-digest.js'

type Batches = AsyncIterable<Batch> | Iterable<Batch>

/**
 * The same batches, which have been made to fit their table. Where the call has a key, their digest becomes a part of its
 * fingerprint after the last of them. `about`: what else tells such rows from others.
 */
export function keyedRows(batches: Batches, { callKey, signal }: HandlerOptions, about = ''): Batches {
  return callKey === undefined ? batches : digested(batches, callKey, about, signal)
}

async function* digested(
  batches: Batches,
  callKey: CallKey,
  about: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Batch> {
  const pacer = new Pacer(signal)
  const digest = new RowsDigest()
  for await (const batch of batches) {
    await digest.add(batch, pacer)
    yield batch
  }
  callKey.endRows(digest.finish(about))
}

/** What tells the rows of a new table from others: also the types of columns that hold nothing. */
export function aboutNewTable(schema: Schema): string {
  return canonicalJson(schemaToJson(schema, 'lance'))
}

/** What tells the rows of a merge from others: a column of nulls sets nulls, one that is not there sets nothing. */
export function aboutMerge({ fields }: Schema): string {
  return canonicalJson(fields.map(({ name }) => name).sort())
}

/**
 * Reads the rows of a call whose key was committed before, for their digest alone. They get the types of the
 * version that the first call made. A column that does not fit these types is taken as it was sent.
 */
export async function readRepeatedRows(
  engine: Engine,
  name: OperationName,
  { id }: { readonly id: readonly string[] },
  body: ArrowBody,
  options: HandlerOptions,
): Promise<void> {
  const { schema: incoming, batches } = await readBody(body, options)
  let schema = incoming
  let about = ''
  if (name === 'createTable') {
    schema = schemaOfTable(incoming)
    about = aboutNewTable(schema)
  } else {
    const stored = await schemaThen(engine, id, options)
    if (stored !== null) schema = fittingSchema(incoming, stored)
    if (name === 'mergeInsertIntoTable') about = aboutMerge(incoming)
  }
  for await (const _ of keyedRows(conformBatches(batches, schema), options, about));
}

/**
 * The columns that the first call under the same key wrote to, in the version that it made. Where that version was deleted, those
 * of the newest version. Null where there is no table.
 */
async function schemaThen(
  engine: Engine,
  id: readonly string[],
  { callKey, table, signal }: HandlerOptions,
): Promise<Schema | null> {
  const { state } = engine.root
  const first = state.keys.get(callKey!.key)
  const entries = first === undefined ? [] : (await engine.slots.get(first.slot, signal)).header.entries
  const ops = (entries[first?.entry ?? 0]?.ops ?? []) as unknown as readonly CatalogOp[]
  const change = ops.find(op => op.op === 'change')
  const changed = change && state.tables.get(change.t)
  if (changed !== undefined && hasNumber(changed.live, change!.v)) {
    return (await openVersion(engine, changed, change!.v, signal)).layout.schema
  }
  const head = changed ?? (table === undefined ? tableNamed(state, id) : state.tables.get(table))
  const hasVersions = head !== undefined && latestOf(head) !== undefined
  return hasVersions ? schemaOf(engine, head, signal) : null
}
