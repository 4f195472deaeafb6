/**
 * Creates an HTML page of all stored results: one file and its charts, without scripts and without external resources.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { formatMachine, formatVersions, round } from '../../dist/bench/harness.js'
import { drawn } from './charts.mjs'
import { engineOf } from './packages.mjs'
import { stored } from './results.mjs'

/**
 * Write `index.html` and `charts/` to the folder of the results, replacing the old ones. Returns the number of charts.
 */
export function writePage(folder) {
  const charts = join(folder, 'charts')
  rmSync(charts, { recursive: true, force: true })
  mkdirSync(charts)
  let count = 0
  const draw = (lines, name) => {
    for (const theme of ['light', 'dark']) {
      writeFileSync(join(charts, `${name}-${theme}.svg`), `${drawn(lines, theme)}\n`)
    }
    count++
    return `charts/${name}`
  }
  const files = stored(folder)
  const links = files.map(({ file }) => `<a href="#${idOf(file)}">${escaped(idOf(file))}</a>`)
  const sections = files.map(each => section(each, draw))
  const body = `<h1>Measured</h1>
<p>Every stored line: what was asked, on which machine, by which command. Times are in milliseconds: the shortest, the median, and what 95 % stay below. Ratios are medians over rounds in which all did the same work in turn; figures of different runs are not to be compared.</p>
<nav>${links.join(' ')}</nav>
${sections.join('\n')}`
  writeFileSync(join(folder, 'index.html'), page(body))
  return count
}

const idOf = file => file.replace(/\.jsonl$/, '')

function section({ file, reports }, draw) {
  const [newest] = reports
  const runs = reports.map((report, i) => run(report, i === 0, `${idOf(file)}-${stamp(report)}`, draw))
  return `<section id="${idOf(file)}">
<h2>${escaped(idOf(file))}</h2>
<p>${escaped(capital(newest.question))}</p>
${runs.join('\n')}
</section>`
}

function run(report, isOpen, name, draw) {
  const { startedAt, command, machine, parameters, versions, cases } = report
  const facts = [
    ['command', `<code>${escaped(command)}</code>`],
    ['machine', escaped(formatMachine(machine))],
    ...(versions === undefined ? [] : [['beside', escaped(formatVersions(versions))]]),
    ['parameters', `<code>${escaped(JSON.stringify(parameters))}</code>`],
  ]
  // Only the newest run has charts. Earlier runs have tables only.
  const told = cases.map((each, i) =>
    oneCase(isOpen ? each : { ...each, lines: undefined }, () => draw(each.lines, `${name}-${i}`)),
  )
  return `<details${isOpen ? ' open' : ''}>
<summary><time datetime="${startedAt}">${startedAt.slice(0, 16).replace('T', ' ')} UTC</time></summary>
<dl>${facts.map(([what, fact]) => `<dt>${what}</dt><dd>${fact}</dd>`).join('')}</dl>
${told.join('\n')}
</details>`
}

function oneCase({ title, entries, limit, lines }, draw) {
  const least = entries.find(({ name }) => name === limit)?.milliseconds.p50
  const hasBytes = entries.some(({ gigabytesPerSecond }) => gigabytesPerSecond !== undefined)
  const figures = [...new Set(entries.flatMap(({ figures }) => Object.keys(figures ?? {})))]
  const heads = [
    'min',
    'p50',
    'p95',
    ...(hasBytes ? ['GB/s'] : []),
    engineOf(entries[0].name) === 'sheaf' ? 'x Sheaf' : 'x first',
    ...(least === undefined ? [] : ['x limit']),
    ...figures,
  ]
  const rows = entries.map(entry => {
    const { min, p50, p95 } = entry.milliseconds
    const cells = [
      ...[min, p50, p95].map(round),
      ...(hasBytes ? [told(entry.gigabytesPerSecond)] : []),
      round(entry.relativeTime),
      ...(least === undefined ? [] : [round(p50 / least)]),
      ...figures.map(name => told(entry.figures?.[name])),
    ]
    const about = entry.name === limit ? ' class="limit"' : ''
    return `<tr${about}><th scope="row">${escaped(entry.name)}</th>${cells.map(cell => `<td>${cell}</td>`).join('')}</tr>`
  })
  return `<h3>${escaped(title)}</h3>
<div class="wide"><table><thead><tr><td></td>${heads.map(head => `<th scope="col">${escaped(head)}</th>`).join('')}</tr></thead>
<tbody>${rows.join('\n')}</tbody></table></div>${lines === undefined ? '' : picture(title, lines, draw())}`
}

function picture(title, { x, y }, path) {
  const alt = escaped(`${title}: ${y.name} by ${x.name}`)
  return `
<picture><source srcset="${path}-dark.svg" media="(prefers-color-scheme: dark)"><img src="${path}-light.svg" alt="${alt}" width="720" height="420" loading="lazy"></picture>`
}

const told = value => (value === undefined ? '' : round(value))
const stamp = ({ startedAt }) => startedAt.slice(0, 19).replaceAll(/[-:]/g, '')
const capital = text => text.charAt(0).toUpperCase() + text.slice(1)
const escaped = text =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')

function page(body) {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sheaf: measured</title>
<style>
:root { color-scheme: light dark; --text: #24292f; --faint: #d8dee4; --page: #fff; --stripe: #f6f8fa; --link: #0b62d6 }
@media (prefers-color-scheme: dark) { :root { --text: #d7dde4; --faint: #39424d; --page: #14181d; --stripe: #1b2128; --link: #6cb2ff } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page); max-width: 72rem; margin: 2rem auto; padding: 0 1rem }
a { color: var(--link) } nav { line-height: 2 } nav a { margin-right: .8em; white-space: nowrap }
section { border-top: 1px solid var(--faint); margin-top: 2.5rem } summary { cursor: pointer; font-weight: 600; margin: .5rem 0 }
h3 { font-size: 1rem; margin: 1.5rem 0 .3rem } code { overflow-wrap: anywhere }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; margin: .5rem 0 } dt { opacity: .7 } dd { margin: 0 }
.wide { overflow-x: auto } table { border-collapse: collapse; font-variant-numeric: tabular-nums }
th, td { padding: .15rem .7rem; text-align: right; white-space: nowrap } th[scope=row] { text-align: left; font-weight: 400 }
thead th { font-weight: 600; border-bottom: 1px solid var(--faint) } tbody tr:nth-child(even) { background: var(--stripe) }
tbody tr:first-child th { font-weight: 600 } .limit { font-style: italic } img { max-width: 100%; height: auto; display: block; margin: .7rem 0 }
</style>
</head>
<body>
${body}
</body>
</html>
`
}
