/**
 * Stands Sheaf beside what one would otherwise pick. Needs `npm run build` and the packages of this folder; `npm run bench:compare` sees
 * to both.
 *
 *   npm run bench:compare                      what there is to ask
 *   npm run bench:compare -- ann               at full size: prints a table, keeps the line in bench/results/, draws the page there
 *   npm run bench:compare -- ann --small       a few seconds, and nothing is kept
 *   npm run bench:compare -- all               every question in order, each in a process of its own
 *   npm run bench:compare -- page              draws the page of what is kept
 *   npm run bench:compare -- table             prints what is kept as rows of Markdown
 *
 * `--json` prints the line instead of the table. `--results FOLDER`: another folder than bench/results, kept to at any size.
 */
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { formatReport, runBench } from '../../dist/bench/harness.js'
import { versionsOf } from './packages.mjs'
import { writePage } from './page.mjs'
import { fileOf, resultsFolder, store } from './results.mjs'
import { markdownRows } from './rows.mjs'

/** In the order in which `all` asks them: those that take longest last. */
const tasks = [
  'exact',
  'cold',
  'install',
  'access',
  'ingest',
  'mutate',
  'text',
  'sql',
  'scalar',
  'memory',
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
    console.error(`no task named ${name}; there is ${[...tasks, 'all', 'page', 'table'].join(', ')}`)
    process.exitCode = 2
    break
  }
}

/** Only what is asked loads its engines. */
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
  console.error(`kept in ${fileOf(name)}`)
  draw()
}

/** A task that fails does not keep the others from being asked. */
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
