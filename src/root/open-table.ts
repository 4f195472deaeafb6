/** Opens a table at a version: finds its catalog entry, its manifest and its reader. */
import { checkRows, findTable, versionOf } from '../catalog/lookup.js'
import type { TableHead } from '../catalog/state.js'
import { assert, quote } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import type { Layout } from '../manifest/layout.js'
import type { TableAddress } from '../manifest/layout-store.js'
import type { TableSchema } from '../manifest/table-schema.js'
import type { VersionRecord } from '../manifest/version.js'
import { orAborted } from '../primitives/abort.js'
import type { HandlerOptions } from '../protocol/calls.js'
import { idText } from '../protocol/identifiers.js'
import type { LanceVectorIndexes } from '../table/lance-vector-index.js'
import { indexReaders } from '../table/table-index.js'
import { TableReader } from '../table/table-reader.js'
import type { TableSource } from '../table/table-source.js'
import { textIndexReaders } from '../table/text-index.js'
import { vectorIndexReaders } from '../table/vector-index.js'
import type { Engine } from './engine.js'

/** A table at one version: its catalog entry, its manifest, and a reader. */
export interface OpenTable {
  readonly head: TableHead
  readonly version: number
  readonly layout: Layout
  readonly reader: TableReader
}

/**
 * Open a table of the newest state. `version`: the version to open; undefined: the newest. Throws `TableNotFound` or
 * `TableVersionNotFound`, and `Unsupported` if Sheaf does not store the rows of the table.
 */
export async function openTable(
  engine: Engine,
  id: readonly string[],
  version: number | undefined,
  { signal, table }: HandlerOptions,
): Promise<OpenTable> {
  const head = findTable(await engine.root.refresh(signal), id, table)
  checkRows(head)
  return openVersion(engine, head, versionOf(head, version), signal)
}

/** Open a version that exists in the catalog state from which `head` comes. */
export async function openVersion(
  engine: Engine,
  head: TableHead,
  version: number,
  signal?: AbortSignal,
): Promise<OpenTable> {
  if (head.kind === 'lance') return { head, version, ...(await lanceReaderOf(engine, head, version, signal)) }
  return { head, version, ...(await readerOf(engine, head, version, signal)) }
}

/** Return the manifest and the reader of a version whose rows a Lance engine wrote. */
export async function lanceReaderOf(
  engine: Engine,
  table: Pick<TableHead, 'uuid' | 'id' | 'location'>,
  version: number,
  signal?: AbortSignal,
): Promise<Pick<OpenTable, 'layout' | 'reader'>> {
  const { manifest } = await recordOf(engine, table, version, signal)
  assert(manifest !== undefined, `version ${version} of table ${idText(table.id)} has no manifest`)
  const layout = await engine.versions.lanceLayouts.at(table, version, manifest, signal)
  return { layout, reader: readerFor(engine.source, table.location, layout) }
}

/**
 * Return a version with the vector indexes of LanceDB, and the indexes that no query can use. The first call for a
 * version reads the indexes, and warns of indexes that cannot be used. Versions whose rows Sheaf stores have none.
 */
export async function withLanceIndexes(
  engine: Engine,
  open: OpenTable,
  signal: AbortSignal | undefined,
): Promise<OpenTable & Pick<LanceVectorIndexes, 'usable' | 'unusable'>> {
  const { head, layout } = open
  if (layout.lanceIndexes === undefined || layout.lanceIndexes.length === 0)
    return { ...open, usable: [], unusable: [] }
  const { lanceVectorIndexes } = await importLanceIndexes()
  const { source } = engine
  const opening = lanceVectorIndexes({ reader: open.reader, source, location: head.location })
  const { usable, unusable, reader } = await orAborted(opening, signal)
  for (const { name, uuid, error } of unusable) {
    if (warnedOf.has(uuid)) continue
    warnedOf.add(uuid)
    engine.warn(`vector searches in table ${idText(head.id)} do not use its index ${quote(name)}`, error)
  }
  return { ...open, usable, unusable, reader }
}

const importLanceIndexes = lazyImport(() => import('../table/lance-vector-index.js'))

/** The UUIDs of indexes of LanceDB for which this process has warned. */
const warnedOf = new Set<string>()

/**
 * Return the manifest and the reader of a committed version. This works also for an expired version while its files
 * exist.
 */
export async function readerOf(
  engine: Engine,
  table: TableAddress,
  version: number,
  signal?: AbortSignal,
): Promise<Pick<OpenTable, 'layout' | 'reader'>> {
  signal?.throwIfAborted()
  const { source } = engine
  const { layouts } = engine.versions
  const { location } = table
  // The manifest is in memory in nearly all cases.
  const layout = layouts.known?.(table, version) ?? (await layoutOf(engine, table, version, signal))
  return { layout, reader: readerFor(source, location, layout) }
}

/** Open a version that exists in the catalog state from which `head` comes. Null: its manifest is not in memory. */
export function knownVersion(engine: Engine, head: TableHead, version: number): OpenTable | null {
  const layout = engine.versions.layouts.known?.(head, version)
  if (layout === undefined) return null
  return { head, version, layout, reader: readerFor(engine.source, head.location, layout) }
}

function readerFor(source: TableSource, location: string, layout: Layout): TableReader {
  let reader = readers.get(layout)
  if (reader === undefined) {
    reader = newReader(source, location, layout)
    readers.set(layout, reader)
  }
  return reader
}

/** Return a reader of a manifest that no other caller uses. */
export function newReader(source: TableSource, location: string, layout: Layout): TableReader {
  const indexes = indexReaders(source, location, layout)
  const vectorIndexes = vectorIndexReaders(source, location, layout)
  const textIndexes = textIndexReaders(source, location, layout)
  return new TableReader(source, location, layout, indexes, vectorIndexes, textIndexes)
}

async function layoutOf(
  { versions, source }: Engine,
  table: TableAddress,
  version: number,
  signal: AbortSignal | undefined,
): Promise<Layout> {
  try {
    return await versions.layouts.at(table, version, signal)
  } catch (error) {
    signal?.throwIfAborted()
    throw (await source.explain?.(table.uuid, version, error)) ?? error
  }
}

/** Return the schema of the newest version of a table. Reads no file if the schema is in memory. */
export function schemaOf(engine: Engine, head: TableHead, signal?: AbortSignal): Promise<TableSchema> {
  return engine.versions.layouts.schemaOf(head, head.schemaId, versionOf(head), signal)
}

/** The reader of each manifest. Manifests never change, and a reader caches facts about its files. */
const readers = new WeakMap<Layout, TableReader>()

/** Return the record of a version that exists in the catalog state from which `head` comes. */
export async function recordOf(
  engine: Engine,
  head: Pick<TableHead, 'uuid' | 'id'>,
  version: number,
  signal?: AbortSignal,
): Promise<VersionRecord> {
  const record = await engine.versions.history.find(head.uuid, version, signal)
  assert(record !== null, `version ${version} of table ${idText(head.id)} has no record`)
  return record
}

/** Return the address of a table's folder, as callers see it: the address of the root and the folder. */
export function locationOf(engine: Engine, head: Pick<TableHead, 'location'>): string {
  return pathOf(engine, head.location)
}

/** Return the address of a key of the store, as callers see it: the address of the root and the key. */
export function pathOf(engine: Engine, key: string): string {
  return engine.location.endsWith('/') ? engine.location + key : `${engine.location}/${key}`
}
