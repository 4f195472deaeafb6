/**
 * Computes digests of the rows in calls with an idempotency key. The digest is a part of the fingerprint of the call.
 */
import type { Batch } from '../arrow/column.js'
import { schemaToJson } from '../arrow/schema-json.js'
import type { Schema } from '../arrow/types.js'
import type { CatalogEntry } from '../catalog/log-types.js'
import { tableNamed } from '../catalog/lookup.js'
import { latestOf } from '../catalog/state.js'
import { readBody } from '../client/read-body.js'
import { hasNumber } from '../manifest/runs.js'
import { Pacer } from '../primitives/pacer.js'
import { type CallKey, canonicalJson } from '../protocol/call-key.js'
import type { ArrowBody, HandlerOptions } from '../protocol/calls.js'
import type { OperationName } from '../protocol/operations.js'
import type { Engine } from '../root/engine.js'
import { openVersion, schemaOf } from '../root/open-table.js'
import { conformBatches, fittingSchema, schemaOfTable } from '../write/conform.js'
import { RowsDigest } from '../write/rows-digest.js'

type Batches = AsyncIterable<Batch> | Iterable<Batch>

/**
 * Return the same batches, which must already have the types of the table. If the call has a key, the digest of the
 * batches is added to the fingerprint of the call after the last batch. `about`: further data for the digest.
 */
export function keyedRows(batches: Batches, { callKey, signal }: HandlerOptions, about = ''): Batches {
  return callKey === undefined ? batches : withDigest(batches, callKey, about, signal)
}

async function* withDigest(
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

/**
 * Return the types of all columns of a new table for the digest, because rows do not show the types of columns without
 * values.
 */
export function aboutNewTable(schema: Schema): string {
  return canonicalJson(schemaToJson(schema, 'lance'))
}

/**
 * Return the column names of a merge for the digest: a column of nulls sets nulls, but a missing column sets nothing.
 */
export function aboutMerge({ fields }: Schema): string {
  return canonicalJson(fields.map(({ name }) => name).sort())
}

/**
 * Read the rows of a call whose key was committed before. The rows are used only for their digest. They are converted
 * to the types of the version that the first call created. A column that cannot be converted keeps its type.
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
    const stored = await schemaOfFirstCall(engine, id, options)
    if (stored !== null) schema = fittingSchema(incoming, stored)
    if (name === 'mergeInsertIntoTable') about = aboutMerge(incoming)
  }
  for await (const _ of keyedRows(conformBatches(batches, schema), options, about));
}

/**
 * Return the schema of the version that the first call with this key created. If this version was deleted, return the
 * schema of the newest version. Returns null if there is no table.
 */
async function schemaOfFirstCall(
  engine: Engine,
  id: readonly string[],
  { callKey, table, signal }: HandlerOptions,
): Promise<Schema | null> {
  const { state } = engine.root
  const first = state.keys.get(callKey!.key)
  const entries =
    first === undefined ? [] : (await engine.versions.slots.get(first.slot, signal)).header.entries
  const entry = entries[first?.entry ?? 0] as CatalogEntry | undefined
  const change = entry?.ops.find(op => op.op === 'change')
  const changed = change && state.tables.get(change.t)
  if (changed !== undefined && hasNumber(changed.live, change!.v)) {
    return (await openVersion(engine, changed, change!.v, signal)).layout.schema
  }
  const head = changed ?? (table === undefined ? tableNamed(state, id) : state.tables.get(table))
  const hasVersions = head !== undefined && latestOf(head) !== undefined
  return hasVersions ? schemaOf(engine, head, signal) : null
}
