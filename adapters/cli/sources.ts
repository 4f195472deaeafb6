/** Finds the files that the operands of `import` name, and identifies their content. */
import { createHash } from 'node:crypto'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, resolve } from 'node:path'
import { invalidInput, quote } from '../../src/errors.js'
import { LocalFile } from '../../src/storage/local-file.js'
import { Misuse } from './misuse.js'

/** A file, and what shows whether its content has changed. */
export interface SourceFile {
  /** The path as the caller gave it, or below a path of the caller. */
  readonly path: string
  readonly size: number
  readonly modifiedMs: number
  /** SHA-256 of the size and of samples of the content, in hex. */
  readonly hash: string
  /** Whether the source is a folder that the HNSWLib store of LangChain saved. */
  readonly isFolder?: boolean
  /** The version of a table of LanceDB to read, and the number of its rows. Absent: the source is a file. */
  readonly lance?: { readonly version: number; readonly rows: number }
}

interface FoundSources {
  readonly files: readonly SourceFile[]
  /** Files of directories that were left out because their names do not have a known ending. */
  readonly leftOut: readonly string[]
}

/**
 * Return the files of the operands, in their order; the files of a pattern or a directory are in the order of their
 * paths. `isKnown`: whether a file of a directory is a source, by its name. Files whose names begin with a dot are
 * ignored in patterns and directories.
 *
 * Throws `InvalidInput` if an operand names no file, or if two operands name the same file, and `Misuse` for standard
 * input.
 */
export async function findSources(
  operands: readonly string[],
  isKnown: (name: string) => boolean,
): Promise<FoundSources> {
  const paths: string[] = []
  const leftOut: string[] = []
  for (const operand of operands) {
    if (operand === '-')
      throw new Misuse(
        'import reads its sources twice, so it cannot read standard input: write the rows to a file',
      )
    const info = await stat(operand).catch(() => null)
    if (info?.isDirectory() && (await isSavedStore(operand))) paths.push(operand)
    else if (info?.isDirectory()) {
      await refuseRoot(operand)
      const all = await filesBelow(operand)
      const known = all.filter(path => isKnown(basename(path)))
      leftOut.push(...all.filter(path => !known.includes(path)))
      if (known.length === 0) throw noFiles(operand, all.length)
      paths.push(...known)
    } else if (info === null && /[*?]/.test(operand)) {
      const found = await matching(operand)
      if (found.length === 0) throw invalidInput(`no file matches ${quote(operand)}`)
      paths.push(...found)
    } else paths.push(operand)
  }
  const met = new Set<string>()
  for (const path of paths) {
    if (met.has(resolve(path))) throw invalidInput(`${quote(path)} is named twice`)
    met.add(resolve(path))
  }
  return { files: await Promise.all(paths.map(identify)), leftOut }
}

/** Throw `InvalidInput` if a directory is a root of Sheaf. */
export async function refuseRoot(directory: string): Promise<void> {
  const log = await stat(join(directory, '_log')).catch(() => null)
  if (!log?.isDirectory()) return
  throw invalidInput(`${quote(directory)} is a root of Sheaf, not a directory of files`, {
    hint: 'export a table to a file with sheaf export, and import the file',
  })
}

/** The files of a folder that the HNSWLib store of LangChain saved. */
const storeFiles = ['hnswlib.index', 'docstore.json', 'args.json'] as const

async function isSavedStore(directory: string): Promise<boolean> {
  const found = await Promise.all(storeFiles.map(name => stat(join(directory, name)).catch(() => null)))
  return found.every(info => info?.isFile() === true)
}

function noFiles(directory: string, others: number) {
  return invalidInput(
    `the directory ${quote(directory)} has no file to import, and no table of LanceDB (a folder <name>.lance with _versions)`,
    {
      hint:
        others === 0
          ? undefined
          : `it has ${others} files with other endings; to import one of them, pass its path`,
    },
  )
}

async function filesBelow(directory: string): Promise<string[]> {
  const found: string[] = []
  const entries = await readdir(directory, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (entry.name.startsWith('.')) continue
    const path = join(directory, entry.name)
    const info = entry.isSymbolicLink() ? await stat(path).catch(() => null) : entry
    // Links to directories are not followed, because they may form a cycle.
    if (entry.isDirectory()) found.push(...(await filesBelow(path)))
    else if (info?.isFile()) found.push(path)
  }
  return found
}

/** Return the files that a pattern matches. `*` and `?` match inside one name, `**` matches any directories. */
async function matching(pattern: string): Promise<string[]> {
  const separator = process.platform === 'win32' ? /[\\/]/ : /\//
  const parts = pattern.split(separator)
  const isAbsolute = /^([\\/]|[a-z]:)/i.test(pattern)
  const start = isAbsolute ? `${parts.shift()}/` : '.'
  const found = new Set<string>()
  await walk(start, parts, found)
  return [...found].sort()
}

async function walk(directory: string, parts: readonly string[], found: Set<string>): Promise<void> {
  const [part, ...rest] = parts
  if (part === undefined) return
  if (part === '**') {
    await walk(directory, rest, found)
    for (const entry of await entriesOf(directory)) {
      if (entry.isDirectory()) await walk(join(directory, entry.name), parts, found)
    }
    return
  }
  if (part === '' || part === '.' || part === '..') return walk(join(directory, part), rest, found)
  const shape = new RegExp(
    `^${part
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '[^/]*')
      .replaceAll('?', '[^/]')}$`,
    'su',
  )
  for (const entry of await entriesOf(directory)) {
    if (!shape.test(entry.name)) continue
    const path = join(directory, entry.name)
    const info = await stat(path).catch(() => null)
    if (rest.length === 0 && info?.isFile()) found.add(path)
    if (rest.length > 0 && info?.isDirectory()) await walk(path, rest, found)
  }
}

async function entriesOf(directory: string) {
  const entries = await readdir(directory, { withFileTypes: true }).catch(() => [])
  return entries.filter(({ name }) => !name.startsWith('.'))
}

/** The first bytes of a SQLite file. */
export const sqliteMagic = 'SQLite format 3\0'

/**
 * Throw `InvalidInput` if a source has changed since it was found. A source that was deleted is unchanged: what was open
 * could be read to its end. The version of a table of LanceDB never changes.
 */
export async function checkStillSame({ path, size, modifiedMs, lance }: SourceFile): Promise<void> {
  const isThere = lance === undefined && (await stat(path).catch(() => null)) !== null
  const now = isThere ? await identify(path) : null
  if (now === null || (now.size === size && now.modifiedMs === modifiedMs)) return
  throw invalidInput(`${quote(path)} changed while it was imported`, {
    hint: 'import a copy, or repeat the command when no program writes to the file',
  })
}

/** Bytes of each of the three samples of a file. */
const sampleBytes = 64 * 1024

async function identify(path: string): Promise<SourceFile> {
  const info = await stat(path).catch(() => null)
  if (info?.isDirectory())
    return {
      ...joined(path, await Promise.all(storeFiles.map(name => identify(join(path, name))))),
      isFolder: true,
    }
  if (info !== null && !info.isFile()) {
    throw invalidInput(`${quote(path)} is not a file`, {
      hint: 'an interrupted import reads its sources again, so it takes no pipes and devices',
    })
  }
  const file = await LocalFile.open(path)
  try {
    const { size } = file
    const hash = createHash('sha256').update(String(size))
    const length = Math.min(sampleBytes, size)
    for (const at of [0, Math.floor((size - length) / 2), size - length]) {
      hash.update(await file.read(at, length))
    }
    const own = { path, size, modifiedMs: info!.mtimeMs, hash: hash.digest('hex') }
    const head = Buffer.from(await file.read(0, Math.min(size, sqliteMagic.length))).toString('latin1')
    // Newer rows of a SQLite file may be in its write-ahead log.
    const log = head === sqliteMagic ? await stat(`${path}-wal`).catch(() => null) : null
    return log === null || log.size === 0 ? own : joined(path, [own, await identify(`${path}-wal`)])
  } finally {
    await file.close()
  }
}

/** Return several files as one source. */
function joined(path: string, files: readonly SourceFile[]): SourceFile {
  return {
    path,
    size: files.reduce((sum, { size }) => sum + size, 0),
    modifiedMs: Math.max(...files.map(({ modifiedMs }) => modifiedMs)),
    hash: createHash('sha256')
      .update(files.map(({ hash }) => hash).join())
      .digest('hex'),
  }
}
