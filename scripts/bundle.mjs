/**
 * Bundles the compiled modules into a few files in `dist/lib/`, and copies their types to `dist/types/`. These are the
 * exports of the package.
 *
 * Node resolves, reads and compiles each module of an import graph separately, in about a millisecond. With bundles, a
 * new process returns its first result several times sooner (bench/open-cold.ts compares both). Entries share chunks,
 * so there is only one class `SheafError` for all entries. Modules that are imported lazily get their own chunks.
 * Otherwise a process would compile code that it never calls, which takes longer than its first result.
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
  storage: 'dist/adapters/storage/public.js',
  s3: 'dist/adapters/s3/public.js',
  azure: 'dist/adapters/azure/public.js',
  gcs: 'dist/adapters/gcs/public.js',
  postgres: 'dist/adapters/postgres/public.js',
  opentelemetry: 'dist/adapters/opentelemetry/public.js',
  flexsearch: 'dist/adapters/flexsearch/public.js',
  // The worker client loads this entry from its own folder: './engine-worker.js'.
  'engine-worker': 'dist/adapters/worker/engine-worker.js',
  cli: 'dist/adapters/cli/main.js',
  // The entry `cli` loads this entry from its own folder: './program.js'.
  program: 'dist/adapters/cli/program.js',
}

/**
 * Entries with stores and logs. A program that imports one of them opens a root with `index`. So the modules that they share
 * with `index` stay in the chunks of `index`, and `index` does not consist of more files because of them.
 */
const storeEntries = ['storage', 's3', 'azure', 'gcs', 'postgres', 'opentelemetry', 'flexsearch']

/**
 * The programs of threads that build indexes. The code that starts a thread loads its program from the folder of that
 * code: './insert-worker.js'. The programs import the chunks of the entries above. These chunks are the same with and
 * without the programs. So a thread loads more code than it runs, but the package does not contain any code twice.
 */
const builders = {
  'insert-worker': 'dist/src/indexes/vector/insert-worker.js',
  'list-worker': 'dist/src/indexes/vector/list-worker.js',
}

/**
 * The program of another thread, which is also loaded from the folder of the code that starts it. It is bundled
 * separately. Threads that serve short calls load nothing else, and the entries above need no additional chunk for
 * shared code.
 */
const threads = [{ 'lz4-worker': 'dist/src/arrow/lz4-worker.js' }]

/**
 * Modules that queries import lazily. Each group gets a chunk. All other lazy modules are used by writers and
 * maintenance.
 */
const asked = {
  // Filters, groups and orders share the evaluation of expressions, so they share a chunk.
  expressions: [
    'dist/src/query/expressions.js',
    'dist/src/query/bind-table-filter.js',
    'dist/src/query/group-rows.js',
    'dist/src/query/group.js',
    'dist/src/query/ordered.js',
    'dist/src/query/ends.js',
    'dist/src/engine/key-read.js',
  ],
  text: [
    'dist/src/query/search-text.js',
    'dist/src/query/text-answers.js',
    'dist/src/query/highlight-rows.js',
    'dist/src/indexes/text/open.js',
    'dist/src/indexes/text/paged.js',
  ],
  vectors: [
    'dist/src/indexes/vector/open.js',
    'dist/src/query/search-near.js',
    'dist/src/query/max-sim.js',
    'dist/src/query/fuse.js',
  ],
  scalars: [
    'dist/src/indexes/scalar/open-segment.js',
    'dist/src/query/choose-probes.js',
    'dist/src/query/probed-rows.js',
  ],
  differences: ['dist/src/client/version-pair.js'],
  explain: ['dist/src/query/explain.js', 'dist/src/query/analyze.js'],
  records: ['dist/src/engine/record-handlers.js'],
}

/**
 * Return a function that names the chunk of a module. The name consists of the roots from which static imports lead to
 * the module. Roots are the entries, and lazy modules that `index` does not contain anyway.
 */
function chunksOf(input) {
  const groups = { entries: new Map(), asked: new Map(), later: new Map() }
  const visit = (id, name, names, graph) => {
    const known = names.get(id) ?? []
    if (known.at(-1) === name) return
    if (known.includes('index') && storeEntries.includes(name)) return
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
          // The program is an entry, not a lazy module: a chunk of lazy code must not contain it, because it would run.
          if (input.program !== undefined && late === resolve(input.program)) continue
          visit(late, 'later', groups.later, graph)
        }
      }
    }
    visitLater(groups.entries.keys())
    visitLater(groups.asked.keys())
    // The map grows during this iteration, because lazy modules may import other modules lazily.
    visitLater(groups.later.keys())
  }
  return (id, graph) => {
    if (groups.entries.size === 0) visitAll(graph)
    const entries = groups.entries.get(id) ?? []
    // The few modules that `index` and `protocol` share, but not `files`, are in the chunk of all entries. A chunk of
    // their own would cost each process more than their code.
    if (entries.includes('index') && entries.includes('protocol'))
      return groups.entries.get(resolve('dist/src/errors.js')).join('-')
    if (entries.includes('index')) return entries.join('-')
    // The main module of a program gets no group, so it stays in the chunk of its entry.
    return [...entries, ...(groups.asked.get(id) ?? groups.later.get(id) ?? [])].join('-') || null
  }
}

const external = [
  /^node:/,
  '@aws-sdk/client-s3',
  '@azure/storage-blob',
  '@google-cloud/storage',
  '@opentelemetry/api',
  'apache-arrow',
  'better-sqlite3',
  'csv-parse',
  'fzstd',
  'jose',
  'p-queue',
  'pg',
  're2js',
]

/**
 * Shortens the names of local variables, because V8 scans every name of a file that it loads. Functions, classes and
 * lines keep their names and line breaks, so stack traces are readable.
 */
const minify = {
  compress: false,
  mangle: { toplevel: true, keepNames: true },
  codegen: { removeWhitespace: false },
}

/** Keeps the names of private methods, which stack traces contain: other names replace them while names are shortened. */
const keepPrivateNames = {
  name: 'names of private methods',
  renderChunk: code => code.replaceAll(/#(?=[A-Za-z_])/g, '__private_'),
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) file.code = file.code.replaceAll('__private_', '#')
  },
}

/** Repeats a comment that the output lacks: webpack and Vite shall not resolve the entry of a provider of object storage. */
const commentImports = {
  name: 'comments for bundlers',
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      file.code = file.code.replaceAll(
        /\bimport\((?=\w+\.entry\))/g,
        'import(/* webpackIgnore: true */ /* @vite-ignore */ ',
      )
    }
  },
}

async function write(input, inputOptions, outputOptions) {
  const bundle = await rolldown({
    input,
    external,
    platform: 'node',
    preserveEntrySignatures: 'allow-extension',
    logLevel: 'warn',
    // Do not warn about modules that are imported both statically and lazily. `index` imports some modules statically
    // that the client entries import lazily.
    checks: { ineffectiveDynamicImport: false },
    ...inputOptions,
    plugins: [...(inputOptions.plugins ?? []), keepPrivateNames, commentImports],
  })
  // Webpack recognizes the module only under the name without `node:`.
  const paths = { 'node:worker_threads': 'worker_threads' }
  await bundle.write({ comments: false, minify, paths, ...outputOptions })
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

/** Replacements of source text in the CommonJS build. If one of the texts is not found, the build fails. */
const replacements = [
  // Use `require`, so that the build has the same copy of apache-arrow as a program that requires it.
  { from: "import('apache-arrow')", to: "Promise.resolve(require('apache-arrow'))" },
  // Use `require`, which works in CommonJS and which bundlers recognize.
  { from: "createRequire(import.meta.url)('re2js')", to: "require('re2js')" },
  { from: "createRequire(import.meta.url)('fzstd')", to: "require('fzstd')" },
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
      if (left.size > 0)
        throw new Error(
          `the modules do not contain these texts to replace: ${[...left].map(({ from }) => from).join(', ')}`,
        )
    },
  }
}

/**
 * The CommonJS build has the same exports, for `require('sheaf')`. Worker threads and the program `sheaf` always run
 * the ES modules.
 *
 * The build contains the package p-queue, because this package has no CommonJS build. The package jose has none either,
 * but it remains a dynamic import, which CommonJS allows. It is optional, and only servers that check tokens load it.
 */
const required = Object.fromEntries(
  ['index', 'protocol', 'http', 'worker', 'files', ...storeEntries].map(name => [name, entries[name]]),
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
      // The chunk of an entry contains only the entry, so that it exports exactly the names of the entry.
      groups: [{ debugName: 'by entries', name: (id, graph) => (isEntry(id) ? null : chunkOf(id, graph)) }],
      includeDependenciesRecursively: false,
    },
  },
)

/**
 * Copy the declarations of the exports and all declarations that they import. Other declarations are left out, so that
 * users see only what they can import and install half as many bytes. A tab replaces four spaces of indentation,
 * because indentation is a quarter of the bytes of the deeply nested declarations of operations.
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
 * Write the declarations of the CommonJS build: one file per export, which re-exports the declarations of the ES
 * modules. TypeScript before 5.8 reports such a re-export as an error (TS1479), although both builds have the same
 * names. So the line is ignored by the compiler.
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
