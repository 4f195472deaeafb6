/**
 * Compares Sheaf with other engines. Needs `npm run build` and the packages of this folder; `npm run bench:compare`
 * installs and builds both.
 *
 *     npm run bench:compare                      list the comparisons
 *     npm run bench:compare -- ann               run one in full size, store its result in bench/results/, write the page
 *     npm run bench:compare -- ann --small       run one in a few seconds, and store nothing
 *     npm run bench:compare -- all               run all in order, each in a separate process
 *     npm run bench:compare -- page              write the page of the stored results
 *     npm run bench:compare -- table             print the stored results as a Markdown table
 *
 * `--json` prints the result as a line of JSON. `--results FOLDER` stores results in another folder than bench/results,
 * also with `--small`.
 */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatReport, runBench } from '../../dist/bench/harness.js'
import { versionsOf } from './packages.mjs'
import { writePage } from './page.mjs'
import { fileOf, resultsFolder, store } from './results.mjs'
import { markdownRows } from './rows.mjs'

/** The comparisons, in the order in which `all` runs them. The longest comparisons come last. */
const tasks = [
  'exact',
  'cold',
  'install',
  'access',
  'one-row',
  'ingest',
  'mutate',
  'text',
  'sql',
  'scalar',
  'memory',
  'files',
  'filtered',
  'commit',
  'growth',
  'ann',
  'ann-large',
  'ann-large-graphs',
]

const words = process.argv.slice(2)
const at = words.indexOf('--results')
const [, chosen] = at < 0 ? [] : words.splice(at, 2)
const size = words.includes('--small') ? 'small' : 'full'
const isKept = chosen !== undefined || size === 'full'
const folder = chosen === undefined ? resultsFolder : resolve(chosen)
const names = words.filter(word => !word.startsWith('--'))

if (names.length === 0) for (const name of tasks) console.log(`${name}: ${(await benchOf(name)).question}`)
for (const name of names) {
  if (name === 'all') askAll()
  else if (name === 'page') draw()
  else if (name === 'table') console.log(markdownRows(folder))
  else if (tasks.includes(name)) await ask(name)
  else {
    console.error(
      `the comparison ${name} does not exist. Available: ${[...tasks, 'all', 'page', 'table'].join(', ')}`,
    )
    process.exitCode = 2
    break
  }
}

/** Load a comparison. Its engines are loaded only now. */
async function benchOf(name) {
  return (await import(`./${name}.mjs`)).bench
}

async function ask(name) {
  const asked = await runBench(await benchOf(name), size)
  const { cases, ...head } = asked
  const command = `npm run bench:compare -- ${name}${size === 'small' ? ' --small' : ''}`
  const report = { ...head, command, versions: versionsOf(cases), cases }
  console.log(words.includes('--json') ? JSON.stringify(report) : formatReport(report))
  if (!isKept) return
  store(folder, report)
  console.error(`the result is stored in ${fileOf(name)}`)
  draw()
}

/** Run all comparisons. If one of them fails, the others still run. */
function askAll() {
  const flags = words.filter(word => word.startsWith('--'))
  const kept = chosen === undefined ? [] : ['--results', folder]
  const failed = tasks.filter(name => {
    console.error(`\n${new Date().toISOString().slice(11, 19)} ${name}`)
    const args = [fileURLToPath(import.meta.url), name, ...flags, ...kept]
    return spawnSync(process.execPath, args, { stdio: 'inherit' }).status !== 0
  })
  if (failed.length === 0) return
  console.error(`failed: ${failed.join(', ')}`)
  process.exitCode = 1
}

function draw() {
  console.error(`${writePage(folder)} charts and index.html in ${folder}`)
}
