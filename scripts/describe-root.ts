/**
 * Describes the content of a root as JSON, to compare it with another description: namespaces, tables, versions, tags,
 * rows, and the result of a search.
 */
import { createHash } from 'node:crypto'
import type { VersionInfo } from '../src/client/table.js'
import type { Namespace, Table } from '../src/index.js'

export async function describeRoot(ns: Namespace): Promise<unknown> {
  const { tables } = await ns.operations.listAllTables({})
  return {
    namespaces: await describeNamespaces(ns, []),
    tables: Object.fromEntries(await Promise.all(tables.map(async id => [id, await describeTable(ns, id)]))),
  }
}

async function describeNamespaces(ns: Namespace, id: readonly string[]): Promise<unknown> {
  const { properties } = await ns.operations.describeNamespace({ id })
  const children = await Promise.all(
    (await ns.namespaceNames(id)).map(async name => [name, await describeNamespaces(ns, [...id, name])]),
  )
  return { properties, namespaces: Object.fromEntries(children) }
}

async function describeTable(ns: Namespace, id: string): Promise<unknown> {
  const table = await ns.openTable(id)
  const { properties, schema, version } = await ns.operations.describeTable({ id: table.id })
  const records = version === undefined ? [] : await table.versions()
  const ofSheaf = schema !== undefined
  const versions = await Promise.all(
    records.map(record => (ofSheaf ? describeVersion(table, record.version) : describeRecord(record))),
  )
  return { properties, tags: Object.fromEntries(await table.tags.list()), versions }
}

/**
 * Describe a version whose rows another engine stores. The path is shortened, because it depends on the location of the
 * root.
 */
function describeRecord({ manifest_path, ...record }: VersionInfo): unknown {
  return { ...record, manifest: manifest_path.replace(/^.*(?=tables\/)/, '') }
}

async function describeVersion(table: Table, version: number): Promise<unknown> {
  const at = await table.checkout(version)
  const schema = await at.schema()
  const rows = await at.query().withRowId().toArray({ int64: 'string' })
  const vector = schema.fields.find(({ type }) => type.kind === 'fixed_size_list')
  const size = vector?.type.kind === 'fixed_size_list' ? vector.type.size : 0
  const nearest =
    size === 0 ? [] : await at.search(new Float32Array(size)).select(['id']).toArray({ int64: 'string' })
  return { version, schema, rows: digest(rows.map(plain)), nearest: nearest.map(plain) }
}

/**
 * Describe rows by their number, the first row, and a hash of all rows. This is enough to compare rows, and needs
 * little space.
 */
function digest(rows: readonly unknown[]): unknown {
  const hash = createHash('sha256').update(JSON.stringify(rows)).digest('hex')
  return { count: rows.length, first: rows[0] ?? null, hash }
}

/** Convert a value to plain JSON: typed arrays become arrays. */
function plain(value: unknown): unknown {
  if (ArrayBuffer.isView(value)) return Array.from(value as unknown as ArrayLike<number>)
  if (value instanceof Date || typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, plain(item)]))
}
