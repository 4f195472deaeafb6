/**
 * Prints the modules of `src/` and `adapters/` and the imports between them. Fails if it finds one of these:
 *
 * - an import of a module of a higher layer (including type imports), or a cycle between files;
 * - a package that more than one module imports;
 * - an import of an engine module by a client handle;
 * - access to files, the clock or random numbers in any other place than the one file or module that is allowed to;
 * - an export whose name occurs in no other file.
 *
 *   npm run map                  the modules
 *   npm run map -- --operations  how many operations are served
 */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/**
 * The layers, the top layer first. A module may import modules of lower layers, and modules to its right in the same
 * line.
 */
const lines: readonly (readonly string[])[] = [
  ['adapters/cli'],
  ['adapters/http', 'adapters/worker'],
  [
    'adapters/files',
    'adapters/storage',
    'adapters/s3',
    'adapters/azure',
    'adapters/gcs',
    'adapters/postgres',
    'adapters/opentelemetry',
    'adapters/flexsearch',
  ],
  ['adapters/object-store'],
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
  ['protocol', 'lance', 'arrow', 'kernels', 'storage'],
  ['lazy-import', 'require-package', 'errors', 'primitives'],
]

/**
 * By module: its folders in the order of layers. A folder may import the folders to its right. `.`: the files directly
 * in the module.
 */
const folders: Readonly<Record<string, readonly string[]>> = {
  sql: ['binding', 'zones', '.', 'functions', 'kernels', 'values', 'syntax'],
  indexes: ['.', 'vector', 'text', 'scalar', 'sections'],
}

/** Modules that client handles must not import. So a process with only a client loads none of these modules. */
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

/** Calls that are allowed only in one file or in one module. */
const guardedCalls: readonly { readonly pattern: RegExp; readonly owner: string; readonly what: string }[] = [
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
  readonly module: string
  readonly lines: number
  readonly text: string
  readonly imports: readonly string[]
  /** The targets of imports that are not type imports. */
  readonly values: readonly string[]
}

const root = process.cwd()

/** Matches the imports of a file: statements at the beginning of a line, and `import(...)`. */
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
    ...unguardedCalls(files),
    ...unusedExports(files),
  ]
  printModules(files, byPath)
  for (const fault of faults) console.error(`FAULT ${fault}`)
  if (faults.length > 0) process.exitCode = 1
  else console.log('no uphill import, no cycle, no unguarded call')
}

function readSources(): SourceFile[] {
  return ['src', 'adapters'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .map(name => `${folder}/${name.replaceAll('\\', '/')}`)
      .filter(
        path =>
          path.endsWith('.ts') && !path.includes('/kernels/wasm/') && !/\.(?:generated|d)\.ts$/.test(path),
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
          module: moduleOf(path),
          lines: text.split('\n').length - 1,
          text,
          imports: found.map(({ target }) => target),
          values: found.filter(({ isType }) => !isType).map(({ target }) => target),
        }
      }),
  )
}

function moduleOf(path: string): string {
  const parts = path.split('/')
  if (parts[0] === 'adapters') return parts.length === 2 ? 'adapters' : `adapters/${parts[1]}`
  return parts[1]!.replace(/\.ts$/, '')
}

/**
 * Return the target of an import: a path relative to the project for files of the project, the package name for
 * packages.
 */
function resolveImport(from: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier
  return relative(root, resolve(root, dirname(from), specifier.replace(/\.js$/, '.ts'))).replaceAll('\\', '/')
}

function rank(module: string): readonly [line: number, column: number] {
  const line = lines.findIndex(modules => modules.includes(module))
  if (line === -1) throw new Error(`module ${module} has no layer: add it to the layers in scripts/map.ts`)
  return [line, lines[line]!.indexOf(module)]
}

function uphillImports(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  const faults: string[] = []
  for (const file of files) {
    for (const path of file.imports) {
      const target = byPath.get(path)
      if (target === undefined || target.module === file.module) continue
      const [fromLine, fromColumn] = rank(file.module)
      const [toLine, toColumn] = rank(target.module)
      if (toLine < fromLine || (toLine === fromLine && toColumn < fromColumn))
        faults.push(`uphill import: ${file.path} -> ${target.path}`)
    }
  }
  return faults
}

/** Find imports of higher layers between the folders of a module. */
function uphillFolders(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  return files.flatMap(file => {
    const order = folders[file.module]
    if (order === undefined) return []
    const from = order.indexOf(folderOf(file))
    if (from === -1)
      return [
        `${file.path} is in a folder of ${file.module}/ that has no layer: add it to the folders in scripts/map.ts`,
      ]
    return file.imports.flatMap(path => {
      const target = byPath.get(path)
      if (target?.module !== file.module || order.indexOf(folderOf(target)) >= from) return []
      return [`uphill import: ${file.path} -> ${target.path}`]
    })
  })
}

function folderOf({ path }: SourceFile): string {
  return path.split('/').length === 3 ? '.' : path.split('/')[2]!
}

/** Find imports of engine modules in client handles. Type imports are allowed, because they load nothing. */
function enginesOfClients(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): string[] {
  return files
    .filter(({ module }) => module === 'client')
    .flatMap(file =>
      file.values
        .map(path => byPath.get(path))
        .filter(target => target !== undefined && engineModules.includes(target.module))
        .map(target => `a client handle imports the engine: ${file.path} -> ${target!.path}`),
    )
}

/** Find import cycles: the strongly connected components with more than one file (Tarjan's algorithm). */
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
  const importers = new Map<string, Set<string>>()
  for (const file of files) {
    for (const name of file.imports) {
      if (/^(src|adapters)\//.test(name) || name.startsWith('node:')) continue
      importers.set(name, (importers.get(name) ?? new Set()).add(file.module))
    }
  }
  return [...importers]
    .filter(([, owners]) => owners.size > 1)
    .map(([name, owners]) => `package ${name} is imported by ${[...owners].join(' and ')}`)
}

function unguardedCalls(files: readonly SourceFile[]): string[] {
  return files.flatMap(file =>
    guardedCalls
      .filter(
        call =>
          file.path.startsWith('src/') && !file.path.startsWith(call.owner) && call.pattern.test(file.text),
      )
      .map(call => `${file.path} uses ${call.what}, but only ${call.owner} may do this`),
  )
}

/** Files whose exports form the public API. */
const publicFiles = [
  'src/index.ts',
  'src/protocol/public.ts',
  ...[
    'http',
    'worker',
    'files',
    'storage',
    's3',
    'azure',
    'gcs',
    'postgres',
    'opentelemetry',
    'flexsearch',
  ].map(name => `adapters/${name}/public.ts`),
]
/** Types that no module imports, but that the generated declarations of other modules contain. */
const namedInDeclarations = ['JsonField', 'Typed']

/** Find exports whose name occurs in no other file of the project. */
function unusedExports(files: readonly SourceFile[]): string[] {
  const others = ['scripts', 'test', 'bench', 'examples'].flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter(name => /\.(ts|mjs)$/.test(name) && !name.includes('node_modules'))
      .map(name => readFileSync(join(root, folder, name), 'utf8')),
  )
  const filesWith = new Map<string, number>()
  for (const text of [...files.map(file => file.text), ...others]) {
    for (const word of new Set(text.match(/\w+/g))) filesWith.set(word, (filesWith.get(word) ?? 0) + 1)
  }
  const exported =
    /^export (?:declare |abstract |async )*(?:function\*?|const|class|interface|type|enum) (\w+)/gm
  return files
    .filter(({ path }) => !publicFiles.includes(path))
    .flatMap(({ path, text }) =>
      Array.from(text.matchAll(exported), ([, name]) => name!)
        .filter(name => filesWith.get(name) === 1 && !namedInDeclarations.includes(name))
        .map(name => `unused export: ${name} in ${path}`),
    )
}

function printModules(files: readonly SourceFile[], byPath: ReadonlyMap<string, SourceFile>): void {
  for (const modules of lines) {
    for (const module of modules) {
      const own = files.filter(file => file.module === module)
      if (own.length === 0) continue
      const arrows = new Map<string, number>()
      for (const path of own.flatMap(file => file.imports)) {
        const target = byPath.get(path)?.module ?? (/^(node:|src\/|adapters\/)/.test(path) ? undefined : path)
        if (target !== undefined && target !== module) arrows.set(target, (arrows.get(target) ?? 0) + 1)
      }
      const size = own.reduce((sum, file) => sum + file.lines, 0)
      const largest = own.reduce((a, b) => (a.lines >= b.lines ? a : b))
      const to = [...arrows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, n]) => `${name} ${n}`)
      console.log(
        `${module.padEnd(16)}${String(own.length).padStart(3)} files ${String(size).padStart(6)} lines` +
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
