/** Stores and reads results: one file per bench, with one line of JSON per run. */
import { appendFileSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const resultsFolder = fileURLToPath(new URL('../results', import.meta.url))

/** Return the file name of a comparison. */
export const fileOf = name => `compare-${name}.jsonl`

export function store(folder, report) {
  mkdirSync(folder, { recursive: true })
  appendFileSync(join(folder, fileOf(report.bench)), `${JSON.stringify(report)}\n`)
}

/**
 * Return every file with its reports, the newest report first. Files of comparisons come before those of other benches.
 */
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

/** Add the command to a report. Old lines do not contain it. */
function withCommand(report, isComparison) {
  return { command: `npm run ${isComparison ? 'bench:compare' : 'bench'} -- ${report.bench}`, ...report }
}
