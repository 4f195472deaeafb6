/**
 * Creates a Markdown table from the stored results: the ratios of the newest run of every comparison, with file and
 * command.
 */
import { round } from '../../dist/bench/harness.js'
import { stored } from './results.mjs'

export function markdownRows(folder) {
  const rows = stored(folder)
    .filter(({ isComparison }) => isComparison)
    .flatMap(({ file, reports: [{ command, cases }] }) => cases.map(each => row(each, file, command)))
  return ['| asked | Sheaf | times ours | stored line, command |', '|---|---|---|---|', ...rows].join('\n')
}

function row({ title, entries: [first, ...others] }, file, command) {
  const ratios = others.map(
    ({ name, relativeTime, figures }) => `${name} ${round(relativeTime)} x${said(figures)}`,
  )
  const cells = [title, `${round(first.milliseconds.p50)} ms${said(first.figures)}`, ratios.join('; ')]
  return `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} | \`${file}\`, \`${command}\` |`
}

/** Return further figures of an entry as text. */
function said(figures = {}) {
  const shown = [
    'recall',
    'perSecond',
    'rowsPerSecond',
    'nDCG',
    'overlap',
    'megabytes',
    'peakMegabytes',
    'packages',
  ]
  const told = shown.filter(name => name in figures).map(name => `${name} ${round(figures[name])}`)
  return told.length === 0 ? '' : ` (${told.join(', ')})`
}
