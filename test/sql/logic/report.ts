/** What became of the records of a folder, in words. */
import { basename } from 'node:path'
import type { Failure, Outcome } from './run.js'

export function ranOf({ passed, failures }: Outcome): number {
  return passed + failures.length
}

/** One line: how many ran and passed, why the others did not run, what the failures have in common. */
export function summary(folder: string, outcome: Outcome): string {
  const { passed, failures, skipped, nothing, elsewhere } = outcome
  const ran = ranOf(outcome)
  const functions = [...skipped].filter(([reason]) => reason.startsWith(functionReason))
  const reasons = [...skipped].filter(([reason]) => !reason.startsWith(functionReason))
  const calls = functions.map(([reason, count]) => [reason.slice(functionReason.length), count] as const)
  const causes = new Map<string, number>()
  for (const failure of failures) count(causes, causeOf(failure))
  return [
    `${folder}: ran ${ran}, passed ${passed} (${((100 * passed) / ran).toFixed(2)} %), failed ${failures.length}`,
    `skipped: ${listed([...reasons, ['function outside the dialect', total(calls)]])}`,
    `functions outside: ${listed(calls)}`,
    `for engines of another name: ${elsewhere}`,
    `without effect here (CREATE INDEX, SET): ${nothing}`,
    `failed by cause: ${listed([...causes])}`,
  ].join('; ')
}

const functionReason = 'function '

/** The first failures, each with its place and what came instead. */
export function failureList({ failures }: Outcome, limit: number): string {
  const lines = failures.slice(0, limit).map(({ path, record, what }) => {
    const sql = record.sql.replace(/\s+/g, ' ').slice(0, 200)
    return `${basename(path)}:${record.line} ${sql}\n    ${what.split('\n')[0]}`
  })
  return lines.join('\n')
}

/** A failure without its names and numbers, so that those of one cause are one. */
function causeOf({ what }: Failure): string {
  const first = what.split('\n')[0]!
  if (/ instead of /.test(first)) return 'another result'
  return first
    .replace(/^column "[^"]*": /, '')
    .replace(/"[^"]*"|'[^']*'/g, '..')
    .replace(/-?\b\d+(\.\d+)?\b/g, '#')
    .slice(0, 80)
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function total(counts: readonly (readonly [string, number])[]): number {
  return counts.reduce((sum, [, count]) => sum + count, 0)
}

/** Most frequent first. */
function listed(counts: readonly (readonly [string, number])[]): string {
  const sorted = [...counts].sort(([, a], [, b]) => b - a)
  return sorted.length === 0 ? 'none' : sorted.map(([name, count]) => `${name} ${count}`).join(', ')
}
