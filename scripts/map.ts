/**
 * Draws the rooms of `src/` and the arrows between them, and fails on what DESIGN forbids: an import that
 * runs uphill, a cycle between files, a package known to more than one room, a second door to the disk, the
 * clock or the dice.
 *
 *   npm run map                  the picture
 *   npm run map -- --operations  how many operations are served
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** Top line first; on a line, a room may import the rooms to its right. */
const lines: readonly (readonly string[])[] = [
  ['index'],
  ['namespace'],
  ['write'],
  ['query'],
  ['table'],
  ['catalog', 'manifest', 'jobs'],
  ['commit', 'indexes', 'sql'],
  ['protocol', 'arrow', 'kernels', 'storage'],
  ['later', 'errors', 'primitives'],
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
}

const root = process.cwd()
const src = join(root, 'src')

function main(): void {
  if (process.argv.includes('--operations')) return void printOperations()
  const files = readSources()
  const byPath = new Map(files.map(file => [file.path, file]))
  const faults = [
    ...uphillImports(files, byPath),
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
  return readdirSync(src, { recursive: true, encoding: 'utf8' })
    .map(name => name.replaceAll('\\', '/'))
    .filter(
      name => name.endsWith('.ts') && !name.startsWith('kernels/wasm/') && !name.endsWith('.generated.ts'),
    )
    .sort()
    .map(name => {
      const text = readFileSync(join(src, name), 'utf8')
      const specifiers = [...text.matchAll(/(?<![.\w])(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
        match => match[1]!,
      )
      return {
        path: `src/${name}`,
        room: roomOf(name),
        lines: text.split('\n').length - 1,
        text,
        imports: specifiers.map(specifier => resolveImport(name, specifier)),
      }
    })
}

function roomOf(name: string): string {
  const slash = name.indexOf('/')
  return slash === -1 ? name.replace(/\.ts$/, '') : name.slice(0, slash)
}

/** A path under `src/` for our own files, the bare specifier for packages. */
function resolveImport(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return relative(root, resolve(src, dirname(from), specifier.replace(/\.js$/, '.ts'))).replaceAll('\\', '/')
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
      if (name.startsWith('src/') || name.startsWith('node:')) continue
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
      .filter(door => !file.path.startsWith(door.owner) && door.pattern.test(file.text))
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
        const target = byPath.get(path)?.room ?? (/^(node:|src\/)/.test(path) ? undefined : path)
        if (target !== undefined && target !== room) arrows.set(target, (arrows.get(target) ?? 0) + 1)
      }
      const size = own.reduce((sum, file) => sum + file.lines, 0)
      const largest = own.reduce((a, b) => (a.lines >= b.lines ? a : b))
      const to = [...arrows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, n]) => `${name} ${n}`)
      console.log(
        `${room.padEnd(11)}${String(own.length).padStart(3)} files ${String(size).padStart(6)} lines` +
          `  largest ${largest.path.slice(4)} ${largest.lines}`,
      )
      if (to.length > 0) console.log(`             -> ${to.join(', ')}`)
    }
  }
}

async function printOperations(): Promise<void> {
  const { servedOperations } = await import('../src/namespace/handlers.js')
  const { served, unsupported } = servedOperations()
  console.log(`${served.length} operations served: ${served.join(', ')}`)
  console.log(`${unsupported.length} operations unsupported: ${unsupported.join(', ')}`)
}

main()
