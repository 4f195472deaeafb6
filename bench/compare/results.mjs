/** Lines of earlier runs: one file for each bench, one line of JSON for each run. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const resultsFolder = fileURLToPath(new URL('../results', import.meta.url))

/** Of which file a comparison is. */
export const fileOf = name => `compare-${name}.jsonl`

export function store(folder, report) {
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, fileOf(report.bench)), `${JSON.stringify(report)}\n`)
}

/** Every file with its reports, newest first. Comparisons come before what Sheaf does alone. */
export function stored(folder) {
  const files = readdirSync(folder).filter(name => name.endsWith('.jsonl'))
  const isComparison = file => file.startsWith('compare-')
  const order = (a, b) => Number(isComparison(b)) - Number(isComparison(a)) || (a < b ? -1 : 1)
  return files.sort(order).map(file => ({
    file,
    isComparison: isComparison(file),
    reports: readFileSync(join(folder, file), 'utf8')
      .trim()
      .split('\n')
      .map(line => withCommand(JSON.parse(line), isComparison(file)))
      .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1)),
  }))
}

/** Lines did not always say what printed them. */
function withCommand(report, isComparison) {
  return { command: `npm run ${isComparison ? 'bench:compare' : 'bench'} -- ${report.bench}`, ...report }
}
