/**
 * Draws the modules of `src/` and `adapters/` and the imports between them. Fails on an import that runs uphill, type imports
 * included; on a cycle between files; on a package that several modules import; on a module of the engine behind a client; and on a second
 * place that reads files, the clock or random numbers.
 *
 *   npm run map                  the picture
 *   npm run map -- --operations  how many operations are served
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** Top line first; on a line, a module may import the modules to its right. */
const lines: readonly (readonly string[])[] = [
  ['adapters/cli'],
  ['adapters/http', 'adapters/worker'],
  ['adapters/files'],
  ['adapters'],
  ['index'],
  ['engine'],
  ['verify', 'maintenance'],
  ['root'],
  ['client'],
  ['write'],
  ['query'],
  ['table'],
  ['catalog', 'manifest', 'jobs'],
  ['commit', 'indexes', 'sql'],
  ['protocol', 'arrow', 'kernels', 'storage'],
  ['lazy-import', 'errors', 'primitives'],
]

/** Folders of a module by the same rule; `.` stands for its own files. */
const folders: Readonly<Record<string, readonly string[]>> = {
  sql: ['zones', 'binding', '.', 'functions', 'kernels', 'values', 'syntax'],
  indexes: ['.', 'vector', 'text', 'scalar', 'sections'],
}

/** Modules that handles of a namespace must not know: a process that only has a client loads none of them. */
const engineModules = [
  'engine',
  'verify',
  'maintenance',
  'root',
  'table',
  'catalog',
  'manifest',
  'jobs',
  'commit',
  'storage',
]

/** Calls that only one file, or one room, may make. */
const doors: readonly { readonly pattern: RegExp; readonly owner: string; readonly what: string }[] = [
  {
    pattern:
      /\bDate\.now\(|\bperformance\.now\(|\bMath\.random\(|\brandomUUID\(|\bsetTimeout\(|\bsetInterval\(/,
    owner: 'src/primitives/clock.ts',
    what: 'time or randomness',
  },
  { pattern: /from 'node:fs|from 'node:fs\/promises/, owner: 'src/storage/', what: 'the disk' },
]

interface SourceFile {
  readonly path: string
  readonly room: string
  readonly lines: number
  readonly text: string
  readonly imports: readonly string[]
  /** Those of them that are not for types alone. */
  readonly values: readonly string[]
}

const root = process.cwd()

/** What a file imports: at the beginning of a line, or in parentheses. */
const imported = /^(?:import|export)\s[^'"`]*?from '([^']+)'|^import '([^']+)'|\bimport\(\s*'([^']+)'\s*\)/gm

function main(): void {
  if (process.argv.includes('--operations')) return void printOperations()
  const files = readSources()
  const byPath = new Map(files.map(file => [file.path, file]))
  const faults = [
    ...uphillImports(files, byPath),
    ...uphillFolders(files, byPath),
    ...enginesOfClients(files, byPath),
    ...fileCycles(files, byPath),
    ...sharedPackages(files),
    ...secondDoors(files),
  ]
  printRooms(files, byPath)
  for (const fault of faults) console.error(`FAULT ${fault}`)
  if (faults.length > 0) process.exitCode = 1
  else console.log('no uphill import, no cycle, one door each')
}

function readSources(): SourceFile[] {
  return ['src', 'adapters'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
      .filter(
        path => path.endsWith('.ts') && !path.includes('/kernels/wasm/') && !path.endsWith('.generated.ts'),
      )
      .sort()
      .map(path => {
        const text = readFileSync(join(root, path), 'utf8')
        const found = Array.from(text.matchAll(imported), ([statement, a, b, c]) => {
          return {
            target: resolveImport(path, (a ?? b ?? c)!),
            isType: /^(import|export) type\b/.test(statement),
          }
        })
        return {
          path,
          room: roomOf(path),
          lines: text.split('\n').length - 1,
          text,
          imports: found.map(({ target }) => target),
          values: found.filter(({ isType }) => !isType).map(({ target }) => target),
        }
      }),
  )
}

function roomOf(path: string): string {
  const parts = path.split('/')
  if (parts[0] === 'adapters') return parts.length === 2 ? 'adapters' : `adapters/${parts[1]}`
  return parts[1]!.replace(/\.ts$/, '')
}

/** A path under the project for our own files, the bare specifier for packages. */
function resolveImport(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return relative(root, resolve(root, dirname(from), specifier.replace(/\.js$/, '.ts'))).replaceAll('\\', '/')
}

function rank(room: string): readonly [line: number, column: number] {
  const line = lines.findIndex(rooms => rooms.includes(room))
  if (line === -1) throw new Error(`room ${room} is on no line of the house; add it to scripts/map.ts`)
  return [line, lines[line]!.indexOf(room)]
}

function uphillImports(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  const faults: string[] = []
  for (const file of files) {
    for (const path of file.imports) {
      const target = byPath.get(path)
      if (target === undefined || target.room === file.room) continue
      const [fromLine, fromColumn] = rank(file.room)
      const [toLine, toColumn] = rank(target.room)
      if (toLine < fromLine || (toLine === fromLine && toColumn < fromColumn))
        faults.push(`uphill import: ${file.path} -> ${target.path}`)
    }
  }
  return faults
}

/** The same between the folders of a module. */
function uphillFolders(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  return files.flatMap(file => {
    const order = folders[file.room]
    if (order === undefined) return []
    const from = order.indexOf(folderOf(file))
    if (from === -1) return [`${file.path} lies in a folder that has no place in ${file.room}/`]
    return file.imports.flatMap(path => {
      const target = byPath.get(path)
      if (target?.room !== file.room || order.indexOf(folderOf(target)) >= from) return []
      return [`uphill import: ${file.path} -> ${target.path}`]
    })
  })
}

function folderOf({ path }: SourceFile): string {
  return path.split('/').length === 3 ? '.' : path.split('/')[2]!
}

/** Imports of the client that bring in modules of the engine; an import of types brings in nothing. */
function enginesOfClients(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  return files
    .filter(({ room }) => room === 'client')
    .flatMap(file =>
      file.values
        .map(path => byPath.get(path))
        .filter(target => target !== undefined && engineModules.includes(target.room))
        .map(target => `a handle knows the engine: ${file.path} -> ${target!.path}`),
    )
}

/** Strongly connected components of more than one file (Tarjan), each a cycle. */
function fileCycles(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: string[] = []
  const faults: string[] = []
  const visit = (file: SourceFile): void => {
    order.set(file.path, order.size)
    low.set(file.path, order.get(file.path)!)
    stack.push(file.path)
    for (const path of file.imports) {
      const target = byPath.get(path)
      if (target === undefined) continue
      if (!order.has(path)) {
        visit(target)
        low.set(file.path, Math.min(low.get(file.path)!, low.get(path)!))
      } else if (stack.includes(path)) {
        low.set(file.path, Math.min(low.get(file.path)!, order.get(path)!))
      }
    }
    if (low.get(file.path) !== order.get(file.path)) return
    const component = stack.splice(stack.indexOf(file.path))
    if (component.length > 1) faults.push(`import cycle: ${component.join(' -> ')}`)
  }
  for (const file of files) if (!order.has(file.path)) visit(file)
  return faults
}

function sharedPackages(files: readonly SourceFile[]): string[] {
  const rooms = new Map<string, Set<string>>()
  for (const file of files) {
    for (const name of file.imports) {
      if (/^(src|adapters)\//.test(name) || name.startsWith('node:')) continue
      rooms.set(name, (rooms.get(name) ?? new Set()).add(file.room))
    }
  }
  return [...rooms]
    .filter(([, owners]) => owners.size > 1)
    .map(([name, owners]) => `package ${name} is imported by ${[...owners].join(' and ')}`)
}

function secondDoors(files: readonly SourceFile[]): string[] {
  return files.flatMap(file =>
    doors
      .filter(
        door =>
          file.path.startsWith('src/') && !file.path.startsWith(door.owner) && door.pattern.test(file.text),
      )
      .map(door => `second door to ${door.what}: ${file.path} (only ${door.owner})`),
  )
}

function printRooms(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): void {
  for (const rooms of lines) {
    for (const room of rooms) {
      const own = files.filter(file => file.room === room)
      if (own.length === 0) continue
      const arrows = new Map<string, number>()
      for (const path of own.flatMap(file => file.imports)) {
        const target = byPath.get(path)?.room ?? (/^(node:|src\/|adapters\/)/.test(path) ? undefined : path)
        if (target !== undefined && target !== room) arrows.set(target, (arrows.get(target) ?? 0) + 1)
      }
      const size = own.reduce((sum, file) => sum + file.lines, 0)
      const largest = own.reduce((a, b) => (a.lines >= b.lines ? a : b))
      const to = [...arrows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, n]) => `${name} ${n}`)
      console.log(
        `${room.padEnd(16)}${String(own.length).padStart(3)} files ${String(size).padStart(6)} lines` +
          `  largest ${largest.path.replace(/^src\//, '')} ${largest.lines}`,
      )
      if (to.length > 0) console.log(`                  -> ${to.join(', ')}`)
    }
  }
}

async function printOperations(): Promise<void> {
  const { servedOperations } = await import('../src/engine/handlers.js')
  const { served, unsupported } = servedOperations()
  console.log(`${served.length} operations served: ${served.join(', ')}`)
  console.log(`${unsupported.length} operations unsupported: ${unsupported.join(', ')}`)
}

main()
