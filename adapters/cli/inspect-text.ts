/** Formats the output of `sheaf inspect` as text. */
import { formatId } from '../../src/protocol/identifiers.js'
import type {
  DirectoryFacts,
  IndexFacts,
  JobFacts,
  NamespaceFacts,
  RootFacts,
  TableDetails,
  TableFacts,
  TagFacts,
  VersionFacts,
} from './inspect-facts.js'
import { showCount, showCounted, showSize, showTime } from './quantities.js'

export function describeRoot(facts: RootFacts | DirectoryFacts): string {
  const title = `${facts.path}: ${showCounted(facts.tables, 'table')}`
  if (!('id' in facts)) return `${title}\n`
  const { id, format, slot, checkpoint, files } = facts
  const { slots, checkpoints, pages, packs } = files
  const kept = [
    showCounted(slots, 'slot'),
    showCounted(checkpoints, 'checkpoint'),
    showCounted(pages, 'page'),
    showCounted(packs, 'pack'),
  ]
  return [
    title,
    `  root ${id}, format ${format}`,
    `  slot ${showCount(slot)}, checkpoint ${checkpoint === 0 ? 'none' : `at ${showCount(checkpoint)}`}; ${kept.join(', ')}`,
    '',
  ].join('\n')
}

export function describeNamespace({ id, properties }: NamespaceFacts): string {
  return `${indentOf(id)}${id.at(-1)}/${pairs(properties)}`
}

/** Format a table in the list of tables: one line for the table, and one line for each index and tag. */
export function describeTree(facts: TableFacts): string {
  const indent = indentOf(facts.id)
  const { indexes = [], tags = [] } = facts
  return [
    `${indent}${facts.id.at(-1)}  ${summary(facts)}`,
    ...indexes.map(index => `${indent}  index ${describeIndex(index)}`),
    ...tags.map(tag => `${indent}  tag ${tag.name} = ${describeTag(tag)}`),
  ].join('\n')
}

/** Format the version of a tag. */
function describeTag({ version, directory }: TagFacts): string {
  return `v${version}${directory === true ? ' (in LanceDB only)' : ''}`
}

/** Format the end of the list: the number of tables that were left out, and one line for each job. */
export function describeRest(left: number, jobs: readonly JobFacts[]): string {
  return [
    ...(left > 0 ? [`... and ${showCounted(left, 'table')} more`] : []),
    ...jobs.map(({ id, type, table, state, progress, reason }) => {
      const what = `job ${id}  ${type}${table === null ? '' : ` of ${formatId(table)}`}  ${state}`
      const far = progress === undefined ? '' : `: ${describeProgress(progress)}`
      return `${what}${far}${reason === undefined ? '' : `: ${reason}`}`
    }),
  ].join('\n')
}

function describeProgress({
  phase,
  done,
  total,
  per_second,
  seconds_left,
}: NonNullable<JobFacts['progress']>) {
  const parts = [phase, `${showCount(done)} of ${showCount(total)}`]
  if (per_second !== undefined) parts.push(`${showCount(per_second)} a second`)
  if (seconds_left !== undefined) parts.push(`${showTime(1000 * seconds_left)} left in this phase`)
  return parts.join(', ')
}

/** Format the details of one table. */
export function describeDetails(details: TableDetails): string {
  const {
    id,
    uuid,
    location,
    properties = {},
    columns,
    metadata,
    versions,
    indexes = [],
    tags = [],
  } = details
  const lengths = details.fragmentRows
  return [
    `${formatId(id)}  ${summary(details)}`,
    `  uuid ${uuid}, in ${location}`,
    ...(Object.keys(properties).length > 0 ? [`  properties${pairs(properties)}`] : []),
    ...section('columns', [
      ...aligned(
        columns.map(({ name, type, nullable, metadata: own }) => [
          name,
          `${type}${nullable ? '' : ' not null'}`,
          pairs(own).trim(),
        ]),
      ),
      ...(Object.keys(metadata).length > 0 ? [`metadata${pairs(metadata)}`] : []),
    ]),
    ...section('fragments', [
      ...(lengths === null || details.fragments === 0
        ? []
        : [
            `${showCount(details.fragments!)}, of ${showCount(lengths.min)} to ${showCount(lengths.max)} rows, median ${showCount(lengths.p50)}`,
          ]),
    ]),
    ...section(
      'indexes',
      indexes.flatMap(index => [
        describeIndex(index),
        `  ${index.created.slice(0, 10)}${pairs(index.parameters)}`,
      ]),
    ),
    ...section('tags', aligned(tags.map(tag => [tag.name, describeTag(tag)]))),
    ...section(
      'versions, newest first',
      aligned(versions.map(({ version, time, operation }) => [`v${version}`, timeOf(time), operation ?? ''])),
    ),
  ].join('\n')
}

function summary(facts: TableFacts): string {
  const { kind, version, rows, bytes, fragments, deadRows, view, problem } = facts
  const parts = [
    kind === 'table' ? '' : kind === 'foreign' ? 'rows of another engine' : kind,
    problem ?? '',
    version === undefined ? '' : describeVersion(version),
    rows === undefined ? '' : showCounted(rows, 'row'),
    bytes === undefined ? '' : showSize(bytes),
    fragments === undefined ? '' : showCounted(fragments, 'fragment'),
    deadRows === undefined || deadRows === 0 ? '' : showCounted(deadRows, 'deleted row'),
    view === undefined ? '' : describeView(view),
  ]
  return parts.filter(part => part !== '').join('  ')
}

function describeVersion({ version, time, operation }: VersionFacts): string {
  return [`v${version}`, timeOf(time), operation === null ? '' : `(${operation})`]
    .filter(part => part !== '')
    .join(' ')
}

function describeView({ source, version, query }: TableFacts['view'] & object): string {
  if (source === null) return `of ${query}`
  return `of ${source}${version === null ? ', not refreshed yet' : ` v${version}`}`
}

function describeIndex({
  name,
  type,
  columns,
  status,
  rows,
  unindexedRows,
  bytes,
  reason,
}: IndexFacts): string {
  const unindexed = unindexedRows === 0 ? '' : `, ${showCount(unindexedRows)} unindexed`
  const why = reason === undefined ? '' : `: ${reason}`
  return `${name}  ${type} on ${columns.join(', ')}  ${showCounted(rows, 'row')}${unindexed}  ${showSize(bytes)}  ${status}${why}`
}

/** Format an RFC 3339 time as `2026-11-22 20:13:01`, in UTC. Returns an empty text for null. */
function timeOf(time: string | null): string {
  return time === null ? '' : time.slice(0, 19).replace('T', ' ')
}

function pairs(values: Readonly<Record<string, unknown>>): string {
  return Object.entries(values)
    .map(
      ([name, value]) =>
        `  ${name}=${typeof value === 'string' && isPlain(value) ? value : JSON.stringify(value)}`,
    )
    .join('')
}

/**
 * Return whether a value can be shown without quotes: it has no control characters, and no two spaces, which separate
 * values.
 */
function isPlain(text: string): boolean {
  return !/[\p{Cc}]| {2}/u.test(text)
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [title, ...lines.map(line => `  ${line}`)]
}

/** Pad the cells so that each column has one width, and join the cells of each row. */
function aligned(rows: readonly (readonly string[])[]): readonly string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [i, cell] of row.entries()) widths[i] = Math.max(widths[i] ?? 0, cell.length)
  }
  return rows.map(row =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
}

function indentOf(id: readonly string[]): string {
  return '  '.repeat(id.length - 1)
}
