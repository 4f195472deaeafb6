/**
 * Runs LanceDB's own Python tests against a server of ours: `npm run test:peers -- lancedb-python [mode...] [options]`.
 *
 *   database   the client is remote: the server holds the rows and answers every query
 *   catalog    the client's engine holds the rows; the server is its catalog
 *   local      LanceDB's own engine alone, to see what fails without a server; only if it is named
 *
 *   --only <text>   tests whose id contains the text
 *   --write         rewrite expected-failures.json: tests that pass leave it, new failures join "unclassified"
 *   --messages      print the message of every failure
 *
 * The tests lie outside of the project, in SHEAF_DATA (default ../shared/data). expected-failures.json lists, by mode and reason,
 * the tests that fail. The run fails when a test that is not listed fails.
 */
import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const root = join(here, '..', '..', '..')
const tests = resolve(root, process.env.SHEAF_DATA ?? '../shared/data', 'lancedb-python-tests')
const venv = join(here, 'venv')
const python = join(venv, ...(process.platform === 'win32' ? ['Scripts', 'python.exe'] : ['bin', 'python']))
const expectedPath = join(here, 'expected-failures.json')

const names = ['table', 'query', 'db', 'hybrid_query', 'fts', 'index', 'nested_fields', 'permutation', 'blob']
const queried = [...names, 'embeddings', 'materialized_views', 'rerankers']
const catalogued = ['expr', 'merge_insert_lsm', 'lsm_write_spec', 'primary_key']
const small = ['pydantic', 'scannable', 'pyarrow', 'duckdb', 'errors']
/** Test files by mode. A remote client refuses what the files that only the others have test, or sends nothing for it. */
const files = {
  database: queried,
  catalog: [...queried, ...catalogued, ...small, 'namespace'],
  local: [...queried, ...catalogued, ...small, 'namespace'],
}

function skip(reason) {
  console.log(`lancedb-python: 0 tests, skipped: ${reason}`)
  process.exit(0)
}

/** Installs the pinned packages into the ignored folder venv; false where Python or the packages cannot be had. */
function install() {
  const wanted = readFileSync(join(here, 'requirements.txt'), 'utf8')
  const mark = join(venv, 'installed.txt')
  if (existsSync(mark) && readFileSync(mark, 'utf8') === wanted) return true
  console.log('installing the Python packages to test with ...')
  const pythons = ['python3.11', 'python3.12', 'python3']
  const made = pythons.some(each => spawnSync(each, ['-m', 'venv', venv]).status === 0)
  if (!made) return false
  const pip = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '-r',
    join(here, 'requirements.txt'),
  ]
  if (spawnSync(python, pip, { stdio: ['ignore', 'ignore', 'inherit'] }).status !== 0) return false
  writeFileSync(mark, wanted)
  return true
}

/** Starts a server of databases in a fresh folder; gives its address. */
async function startServer(folder) {
  const program = [join(root, 'dist', 'lib', 'cli.js'), 'serve', folder, '--port', '0']
  const options = ['--databases', '--create-databases', '--log', 'none']
  const server = spawn(process.execPath, [...program, ...options], { stdio: ['ignore', 'pipe', 'inherit'] })
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /https?:\/\/\S+/.exec(line)?.[0]
    if (url !== undefined) return { url, server }
  }
  throw new Error('the server ended before it listened')
}

/** Runs the test files of a mode; gives one result a test. */
async function runMode(mode, only) {
  const folder = mkdtempSync(join(tmpdir(), 'sheaf-lancedb-python-'))
  const results = join(folder, 'results.jsonl')
  writeFileSync(results, '')
  const { url, server } = mode === 'local' ? { url: '' } : await startServer(join(folder, 'root'))
  const env = {
    ...process.env,
    PYTHONPATH: [here, tests].join(process.platform === 'win32' ? ';' : ':'),
    PYTHONDONTWRITEBYTECODE: '1',
    LANCEDB_LOG: 'error',
    SHEAF_MODE: mode,
    SHEAF_URL: url,
    SHEAF_RESULTS: results,
  }
  const args = [
    '-m',
    'pytest',
    '-p',
    'sheaf_plugin',
    '-p',
    'no:cacheprovider',
    '-c',
    join(here, 'pytest.ini'),
  ]
  args.push(
    '--rootdir',
    tests,
    '--basetemp',
    join(folder, 'tmp'),
    '-q',
    '--no-header',
    '--tb=no',
    '-W',
    'ignore',
  )
  if (only !== undefined) args.push('-k', only)
  args.push(...files[mode].map(name => join(tests, `test_${name}.py`)))
  const pytest = spawn(python, args, { cwd: folder, env, stdio: ['ignore', 'ignore', 'inherit'] })
  await new Promise(done => pytest.once('close', done))
  server?.kill('SIGTERM')
  const lines = readFileSync(results, 'utf8').split('\n').filter(Boolean)
  rmSync(folder, { recursive: true, force: true })
  return lines.map(line => JSON.parse(line)).filter(({ outcome }) => outcome !== 'skipped')
}

const args = process.argv.slice(2)
const option = name => (args.includes(name) ? args[args.indexOf(name) + 1] : undefined)
const only = option('--only')
const modes = args.filter(each => each in files)
if (!existsSync(tests)) skip(`no ${tests}: set SHEAF_DATA to a folder that has lancedb-python-tests`)
if (!install()) skip('Python or its packages cannot be installed here')

const expected = JSON.parse(readFileSync(expectedPath, 'utf8'))
let surprises = 0
for (const mode of modes.length > 0 ? modes : ['database', 'catalog']) {
  const reasons = new Map()
  for (const [reason, ids] of Object.entries(expected[mode] ?? {}))
    for (const id of ids) reasons.set(id, reason)
  const results = await runMode(mode, only)
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  for (const name of files[mode]) {
    const of = results.filter(({ test }) => test.startsWith(`test_${name}.py::`))
    const bad = of.filter(({ outcome }) => outcome === 'failed').length
    if (of.length > 0) console.log(`${mode}  test_${name}: ${of.length - bad} passed, ${bad} failed`)
  }
  console.log(`${mode}: ${results.length - failed.length} of ${results.length} passed`)
  for (const [reason, ids] of Object.entries(expected[mode] ?? {})) console.log(`  ${ids.length}  ${reason}`)
  for (const { test, message } of failed) {
    if (!reasons.has(test)) {
      console.log(
        `  fails, and is not listed: ${test}\n    ${message.split('\n').slice(0, 3).join('\n    ')}`,
      )
      if (mode !== 'local') surprises++
    } else if (args.includes('--messages'))
      console.log(`  ${test}\n    ${message.split('\n').join('\n    ')}`)
  }
  const passing = results.filter(({ test, outcome }) => outcome === 'passed' && reasons.has(test))
  for (const { test } of passing) console.log(`  passes, and is listed as failing: ${test}`)
  if (args.includes('--write')) {
    const passed = new Set(passing.map(({ test }) => test))
    const kept = Object.entries(expected[mode] ?? {}).map(([reason, ids]) => [
      reason,
      ids.filter(id => !passed.has(id)),
    ])
    const fresh = failed.map(({ test }) => test).filter(test => !reasons.has(test))
    const groups = Object.fromEntries(kept.filter(([, ids]) => ids.length > 0))
    if (fresh.length > 0) groups.unclassified = [...(groups.unclassified ?? []), ...fresh]
    expected[mode] = groups
    writeFileSync(expectedPath, `${JSON.stringify(expected, null, 2)}\n`)
    surprises = 0
  }
}
process.exitCode = surprises > 0 ? 1 : 0
