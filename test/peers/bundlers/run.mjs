/**
 * Bundles a program that uses every part of the packed package, with several bundlers, and runs the bundles: `npm run test:peers -- bundlers`.
 * Each runs twice: where the package is in `node_modules`, and alone. Also runs Jest, and compiles a program with TypeScript under
 * each module resolution.
 */
import { cpSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installPacked, Results, run } from '../packed.mjs'

const here = dirname(fileURLToPath(import.meta.url))
const load = createRequire(import.meta.url)
const results = new Results()
const out = join(here, 'node_modules', '.bundles')

if (!installPacked(here)) {
  console.log('bundlers: skipped: the packages cannot be installed here')
  process.exit(0)
}
// The programs are next to the packages, where bundlers look for them.
const source = join(here, 'node_modules', '.source')
cpSync(join(here, '..', 'runtimes'), source, {
  recursive: true,
  filter: path => !path.slice(here.length).includes('node_modules'),
})

const input = { imports: join(source, 'imports.mjs'), requires: join(source, 'requires.cjs') }

async function esbuild(file, format, outfile, more) {
  await load('esbuild').build({
    entryPoints: [file],
    outfile,
    bundle: true,
    platform: 'node',
    format,
    logLevel: 'error',
    ...more,
  })
  return outfile
}

async function rollup(file, folder, more = []) {
  const resolve = load('@rollup/plugin-node-resolve').nodeResolve({ exportConditions: ['node'] })
  const plugins = [resolve, load('@rollup/plugin-commonjs')()]
  const bundle = await load('rollup').rollup({
    input: file,
    external: [/^node:/, ...more],
    plugins,
    onwarn() {},
  })
  await bundle.write({
    dir: folder,
    format: 'es',
    entryFileNames: 'program.mjs',
    chunkFileNames: '[name].mjs',
  })
  return join(folder, 'program.mjs')
}

async function rolldown(file, folder) {
  const { rolldown } = await import(load.resolve('rolldown'))
  const bundle = await rolldown({ input: file, platform: 'node', logLevel: 'silent' })
  await bundle.write({
    dir: folder,
    format: 'es',
    entryFileNames: 'program.mjs',
    chunkFileNames: '[name].mjs',
  })
  return join(folder, 'program.mjs')
}

function webpack(file, folder, more) {
  const options = {
    target: 'node',
    mode: 'production',
    optimization: { minimize: false },
    entry: file,
    output: { path: folder, filename: 'program.cjs' },
    // The tsconfig.json of this repository maps the name of the package to its sources.
    resolve: { tsconfig: false },
    ...more,
  }
  return new Promise((resolve, reject) => {
    load('webpack')(options, (error, stats) => {
      if (error) reject(error)
      else if (stats.hasErrors()) reject(new Error(stats.toString({ all: false, errors: true })))
      else resolve(join(folder, 'program.cjs'))
    })
  })
}

const parts = 'create, add, indexes, vector, text, hybrid, SQL, transaction, HTTP, files'
const all = `${parts}, regular expressions, worker`
/** The parts that work in a bundle without the package. */
const some = `${parts}, no regular expressions, no worker`
const noWorker = `${parts}, regular expressions, no worker`
const external = { external: ['sheaf', 'sheaf/*'] }
const anyEntry = /^sheaf($|\/)/

/** `alone`: what passes without the package; null if it is external. */
const bundles = [
  { name: 'esbuild esm', alone: some, build: to => esbuild(input.imports, 'esm', join(to, 'program.mjs')) },
  { name: 'esbuild cjs', alone: some, build: to => esbuild(input.imports, 'cjs', join(to, 'program.cjs')) },
  {
    name: 'esbuild cjs, require',
    alone: noWorker,
    build: to => esbuild(input.requires, 'cjs', join(to, 'program.cjs')),
  },
  {
    name: 'esbuild, sheaf external',
    alone: null,
    build: to => esbuild(input.imports, 'cjs', join(to, 'program.cjs'), external),
  },
  {
    name: 'webpack, sheaf external',
    alone: null,
    build: to => webpack(input.imports, to, { externals: [anyEntry], externalsType: 'commonjs' }),
  },
  { name: 'rollup, sheaf external', alone: null, build: to => rollup(input.imports, to, [anyEntry]) },
  { name: 'webpack', alone: all, build: to => webpack(input.imports, to) },
  { name: 'webpack, require', alone: noWorker, build: to => webpack(input.requires, to) },
  { name: 'rollup', alone: some, build: to => rollup(input.imports, to) },
  { name: 'rolldown', alone: some, build: to => rolldown(input.imports, to) },
]

const built = []
for (const [number, bundle] of bundles.entries()) {
  const to = join(out, String(number))
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  try {
    built.push({ ...bundle, program: await bundle.build(to) })
  } catch (error) {
    results.add(bundle.name, false, error)
  }
}

function test(name, program, expected) {
  const { passed, output } = run(process.execPath, [program], dirname(program))
  results.add(name, passed && output === expected, output)
}

for (const { name, program } of built) test(name, program, all)

// Webpack writes the path of the package into the bundle, so it must be elsewhere.
const hidden = join(here, 'node_modules', '.sheaf')
renameSync(join(here, 'node_modules', 'sheaf'), hidden)
try {
  for (const { name, program, alone } of built) {
    if (alone === null) continue
    const folder = mkdtempSync(join(tmpdir(), 'sheaf-alone-'))
    cpSync(dirname(program), folder, { recursive: true })
    test(`${name}, alone`, join(folder, program.slice(dirname(program).length)), alone)
    rmSync(folder, { recursive: true })
  }
} finally {
  renameSync(hidden, join(here, 'node_modules', 'sheaf'))
}

const jest = join(here, 'node_modules', 'jest', 'bin', 'jest.js')
const config = { rootDir: here, testMatch: ['**/jest.cjs'], testEnvironment: 'node', transform: {} }
const ran = run(process.execPath, [jest, '--config', JSON.stringify(config), '--ci'], here)
results.add('Jest', ran.passed, ran.passed ? 'every part, errors, jobs' : ran.output)

const typesFolder = join(source, 'types')
cpSync(join(here, 'types'), typesFolder, { recursive: true })
for (const [version, resolution, module, ending] of [
  ...['5.4', '5.6', '5.9', '6.0', '7.0'].flatMap(version => [
    [version, 'nodenext', 'nodenext', 'mts'],
    [version, 'bundler', 'esnext', 'ts'],
  ]),
  ['5.4', 'nodenext', 'nodenext', 'cts'],
  ['5.4', 'node16', 'node16', 'cts'],
  ['5.4', 'node10', 'commonjs', 'ts'],
  ['5.9', 'node10', 'commonjs', 'ts'],
]) {
  const file = join(typesFolder, `program.${ending}`)
  cpSync(join(typesFolder, 'app.ts'), file)
  const compilerOptions = {
    module,
    moduleResolution: resolution,
    target: 'es2022',
    strict: true,
    noEmit: true,
  }
  const others = { lib: ['es2023', 'esnext.disposable'], types: ['node'], skipLibCheck: true }
  const project = join(typesFolder, `tsconfig.json`)
  writeFileSync(
    project,
    JSON.stringify({ compilerOptions: { ...compilerOptions, ...others }, files: [file] }),
  )
  const compiler = join(here, 'node_modules', `typescript-${version}`, 'bin', 'tsc')
  const compiled = run(process.execPath, [compiler, '-p', project], typesFolder)
  results.add(`TypeScript ${version} ${resolution} .${ending}`, compiled.passed, compiled.output)
}
results.end()
