/**
 * Bundles the compiled modules into a few files under `dist/lib/`, and copies their types to `dist/types/`: the exports of the package.
 *
 * Node resolves, reads and compiles every module of an import graph by itself, about a millisecond each. With bundles, the first answer
 * of a cold process comes several times sooner (bench/open-cold.ts compares both). Entries share chunks, so `SheafError` is one class
 * in every entry. Modules that are imported lazily get chunks of their own: compiling code that a process never calls would take longer
 * than its first answer.
 */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'

const entries = {
  index: 'dist/src/index.js',
  protocol: 'dist/src/protocol/public.js',
  http: 'dist/adapters/http/public.js',
  worker: 'dist/adapters/worker/public.js',
  files: 'dist/adapters/files/public.js',
  // The worker client loads this entry from its own folder: './engine-worker.js'.
  'engine-worker': 'dist/adapters/worker/engine-worker.js',
  cli: 'dist/adapters/cli/main.js',
}

/**
 * Programs of threads that build indexes. The code that starts them loads them from its own folder: './insert-worker.js'. They import
 * the chunks of the entries above, which are the same with and without them. So threads load more code than they run, but the package
 * does not contain the code twice.
 */
const builders = {
  'insert-worker': 'dist/src/indexes/vector/insert-worker.js',
  'list-worker': 'dist/src/indexes/vector/list-worker.js',
}

/**
 * Also loaded from the folder of the code that starts it, but bundled separately: short calls start its threads, which load nothing else.
 * So the entries above need no additional chunk for shared code.
 */
const threads = [{ 'lz4-worker': 'dist/src/arrow/lz4-worker.js' }]

/** Modules that queries import lazily, each with a chunk of its own. All other lazy modules are for writers and maintenance. */
const asked = {
  expressions: ['dist/src/sql/binding/bind.js', 'dist/src/query/bind-table-filter.js'],
  text: [
    'dist/src/query/search-text.js',
    'dist/src/query/highlight-rows.js',
    'dist/src/indexes/text/open.js',
  ],
  vectors: ['dist/src/indexes/vector/open.js'],
  scalars: ['dist/src/indexes/scalar/open-segment.js'],
  differences: ['dist/src/client/version-pair.js'],
  explain: ['dist/src/query/explain.js', 'dist/src/query/analyze.js'],
}

/**
 * Name the chunk of a module by the roots that reach it without a dynamic import. Roots are the entries, and the lazy modules unless
 * `index` contains them anyway.
 */
function chunksOf(input) {
  const groups = { entries: new Map(), asked: new Map(), later: new Map() }
  const visit = (id, name, names, graph) => {
    const known = names.get(id) ?? []
    if (known.at(-1) === name) return
    names.set(id, [...known, name])
    for (const imported of graph.getModuleInfo(id)?.importedIds ?? []) visit(imported, name, names, graph)
  }
  const visitAll = graph => {
    for (const [name, path] of Object.entries(input)) visit(resolve(path), name, groups.entries, graph)
    for (const [name, paths] of Object.entries(asked)) {
      for (const path of paths) visit(resolve(path), name, groups.asked, graph)
    }
    const visitLater = ids => {
      for (const id of ids) {
        for (const late of graph.getModuleInfo(id)?.dynamicallyImportedIds ?? []) {
          visit(late, 'later', groups.later, graph)
        }
      }
    }
    visitLater(groups.entries.keys())
    visitLater(groups.asked.keys())
    // Lazy modules may import others lazily: the map grows during the iteration.
    visitLater(groups.later.keys())
  }
  return (id, graph) => {
    if (groups.entries.size === 0) visitAll(graph)
    const entries = groups.entries.get(id) ?? []
    if (entries.includes('index')) return entries.join('-')
    // The module of a builder itself has no group: it is in the chunk of its entry.
    return [...entries, ...(groups.asked.get(id) ?? groups.later.get(id) ?? [])].join('-') || null
  }
}

const external = [/^node:/, 'apache-arrow', 'csv-parse', 'fzstd', 'jose', 'p-queue', 're2js']

async function write(input, inputOptions, outputOptions) {
  const bundle = await rolldown({
    input,
    external,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    logLevel: 'warn',
    // The index imports some modules at once that a process with only a client imports lazily.
    checks: { ineffectiveDynamicImport: false },
    ...inputOptions,
  })
  // Webpack knows the worker threads of Node by this name only.
  const paths = { 'node:worker_threads': 'worker_threads' }
  await bundle.write({ comments: false, paths, ...outputOptions })
  await bundle.close()
}

rmSync('dist/lib', { recursive: true, force: true })
for (const input of [entries, ...threads]) {
  await write(
    input === entries ? { ...entries, ...builders } : input,
    {},
    {
      dir: 'dist/lib',
      format: 'esm',
      entryFileNames: '[name].js',
      chunkFileNames: 'shared-[name]-[hash].js',
      codeSplitting: {
        groups: [{ debugName: 'by entries', name: chunksOf(input) }],
        includeDependenciesRecursively: false,
      },
    },
  )
}

/** Replacements of source text in the CommonJS build. The build fails if it does not find one of the texts. */
const replacements = [
  // An ES module of the package would be another copy than the one that the program requires.
  { from: "import('apache-arrow')", to: "Promise.resolve(require('apache-arrow'))" },
  // Here a plain `require` works, and bundlers see it.
  { from: "createRequire(import.meta.url)('re2js')", to: "require('re2js')" },
  ...['insert-worker', 'list-worker', 'lz4-worker', 'engine-worker'].map(name => ({
    from: `new URL('./${name}.js', import.meta.url)`,
    to: `new URL('../lib/${name}.js', import.meta.url)`,
  })),
]

function replacing(left = new Set(replacements)) {
  return {
    name: 'text for CommonJS',
    transform(code) {
      const here = replacements.filter(({ from }) => code.includes(from))
      for (const replacement of here) left.delete(replacement)
      return here.reduce((text, { from, to }) => text.replaceAll(from, to), code)
    },
    buildEnd() {
      if (left.size > 0) throw new Error(`not found: ${[...left].map(({ from }) => from).join(', ')}`)
    },
  }
}

/**
 * The same exports as CommonJS, for `require('sheaf')`. Worker threads and the program `sheaf` always run the ES modules.
 *
 * The package p-queue has no CommonJS build, so this build contains it. The package jose has none either. It stays a dynamic import,
 * which CommonJS may use: it is optional, and only servers that check tokens load it.
 */
const required = Object.fromEntries(
  ['index', 'protocol', 'http', 'worker', 'files'].map(name => [name, entries[name]]),
)
const isEntry = id => Object.values(required).some(path => resolve(path) === id)
const chunkOf = chunksOf(required)
rmSync('dist/cjs', { recursive: true, force: true })
await write(
  required,
  { external: external.filter(name => name !== 'p-queue'), plugins: [replacing()] },
  {
    dir: 'dist/cjs',
    format: 'cjs',
    entryFileNames: '[name].cjs',
    chunkFileNames: 'shared-[name]-[hash].cjs',
    codeSplitting: {
      // The chunk of an entry has nothing else, so that it exports the names of the entry and no others.
      groups: [{ debugName: 'by entries', name: (id, graph) => (isEntry(id) ? null : chunkOf(id, graph)) }],
      includeDependenciesRecursively: false,
    },
  },
)

/**
 * Copy the exported declarations and those that they import, and no others: users see what they can import, and install half as
 * many bytes. A tab replaces four spaces of indentation: the declarations of the operations are nested deeply, and a quarter of
 * their bytes is indentation.
 */
function copyTypes(files) {
  rmSync('dist/types', { recursive: true, force: true })
  const left = files.map(file => file.replace('dist/types', 'dist'))
  const seen = new Set()
  for (let file = left.pop(); file !== undefined; file = left.pop()) {
    if (seen.has(file)) continue
    seen.add(file)
    const target = file.replace('dist', 'dist/types')
    mkdirSync(dirname(target), { recursive: true })
    const text = readFileSync(file, 'utf8')
    writeFileSync(
      target,
      text.replaceAll(/^(?: {4})+/gm, spaces => '\t'.repeat(spaces.length / 4)),
    )
    const imports = text.matchAll(/(?:from|import\()\s*['"](\.{1,2}\/[^'"]+)\.js['"]/g)
    for (const [, path] of imports) left.push(`./${join(dirname(file), path)}.d.ts`)
  }
}

/**
 * Write the declarations of the CommonJS build. Only one file per export: it hands on the declarations of the ES modules. TypeScript older
 * than 5.8 reports that as an error (TS1479), although the names are the same in both builds.
 */
function writeRequiredTypes(exports) {
  for (const { import: imported, require: required } of exports) {
    const target = relative(dirname(required.types), imported.types.replace(/\.d\.ts$/, '.js')).replaceAll(
      '\\',
      '/',
    )
    writeFileSync(required.types, `// @ts-ignore\nexport * from '${target}'\n`)
  }
}

const exports = Object.values(JSON.parse(readFileSync('package.json', 'utf8')).exports)
copyTypes(exports.map(entry => entry.import.types))
writeRequiredTypes(exports)
