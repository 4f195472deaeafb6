/** Finds tables of LanceDB, and reads the rows of their newest versions. */
import { createHash } from 'node:crypto'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { queryBatches } from '../../src/client/query-batches.js'
import { ErrorCode, invalidInput, quote, SheafError } from '../../src/errors.js'
import { type ArrowBatch, connect, type Namespace } from '../../src/index.js'
import { type LanceManifest, readManifest } from '../../src/lance/manifest.js'
import { parseManifestName } from '../../src/protocol/manifest-name.js'
import type { SourceFile } from './sources.js'

/** The newest version of a table of LanceDB. */
export interface LanceTable {
  /** The folder of the table. */
  readonly folder: string
  readonly version: number
  readonly manifest: LanceManifest
  readonly source: SourceFile
}

const ending = '.lance'
/** Maximum bytes of the cache from which rows are read: a scan reads each of them once. */
const cacheBytes = 64 * 2 ** 20

/** Return the name of the table in a folder. */
export function lanceTableName(folder: string): string {
  const name = basename(resolve(folder))
  return name.endsWith(ending) ? name.slice(0, -ending.length) : name
}

/**
 * Return the folders of the tables that a path names: the path itself, or the folders `<name>.lance` in it that have
 * manifests, in the order of their names.
 */
export async function lanceFoldersAt(path: string): Promise<readonly string[]> {
  if ((await manifestsIn(path)).length > 0) return [path]
  const entries = await readdir(path).catch(() => [])
  const found: string[] = []
  for (const entry of entries.sort()) {
    if (!entry.endsWith(ending) || entry === ending) continue
    const folder = join(path, entry)
    if ((await manifestsIn(folder)).length > 0) found.push(folder)
  }
  return found
}

async function manifestsIn(folder: string): Promise<readonly string[]> {
  const names = await readdir(join(folder, '_versions')).catch(() => [])
  return names.filter(name => parseManifestName(name)?.staging === null)
}

/** Read the manifest of the newest version of a table. Throws what `readManifest` throws. */
export async function openLanceTable(folder: string): Promise<LanceTable> {
  let newest = { version: -1n, name: '' }
  for (const name of await manifestsIn(folder)) {
    const { version } = parseManifestName(name)!
    if (version > newest.version) newest = { version, name }
  }
  if (newest.version < 0n) throw invalidInput(`${quote(folder)} has no table of LanceDB`)
  const path = join(folder, '_versions', newest.name)
  const bytes = new Uint8Array(await readFile(path))
  const manifest = readManifest(bytes, path)
  const { version } = manifest
  let rows = 0
  let size = 0
  for (const fragment of manifest.fragments) {
    rows += fragment.rows - (fragment.deletions?.rows ?? 0)
    for (const file of fragment.files) size += file.bytes
  }
  const hash = createHash('sha256').update(bytes).digest('hex')
  const { mtimeMs: modifiedMs } = await stat(path)
  return {
    folder,
    version,
    manifest,
    source: { path: folder, size, modifiedMs, hash, lance: { version, rows } },
  }
}

/** Open a connection to one table, which must be closed. Warnings about the tags of the table go to `onWarning`. */
async function connectToTable(
  folder: string,
  signal: AbortSignal,
  onWarning: (message: string, cause: unknown) => void,
): Promise<Namespace> {
  let failure: unknown
  const address = `lance+${pathToFileURL(resolve(folder))}`
  const ns = await connect(address, {
    cacheBytes,
    signal,
    onWarning: (message, cause) => {
      failure = cause
      onWarning(message, cause)
    },
  })
  const names = await ns.tableNames()
  if (names.length === 1) return ns
  await ns.close()
  if (failure instanceof SheafError) throw failure
  throw new SheafError(
    ErrorCode.Unsupported,
    `${quote(folder)} cannot be opened: names of folders must be printable ASCII`,
    { hint: 'rename the folder' },
  )
}

/** Read the rows of a version. `onRows` is called with the number of rows of each batch after it was used. */
export async function* readLance(
  folder: string,
  version: number,
  signal: AbortSignal,
  onRows: (rows: number) => void,
): AsyncGenerator<ArrowBatch> {
  await using ns = await connectToTable(folder, signal, () => {})
  const [name] = await ns.tableNames()
  const table = await (await ns.openTable(name!)).checkout(version, { signal })
  for await (const batch of queryBatches(table.query(), signal)) {
    yield batch
    onRows(batch.numRows)
  }
}

/** Return the tags of the main branch of a table, with their versions. Other tags are passed to `onLeftOut`. */
export async function lanceTags(
  folder: string,
  signal: AbortSignal,
  onLeftOut: (message: string) => void,
): Promise<ReadonlyMap<string, number>> {
  await using ns = await connectToTable(folder, signal, (message, cause) =>
    onLeftOut(`${message}: ${(cause as Error).message}`),
  )
  const [name] = await ns.tableNames()
  return await (await ns.openTable(name!)).tags.list({ signal })
}
