/**
 * Test scripts of sqllogictest as records (https://www.sqlite.org/sqllogictest/doc/trunk/about.wiki), with what
 * sqllogictest-rs adds: expected errors with their message, `query error`, `include`.
 */

export interface LogicRecord {
  readonly kind: 'statement' | 'query'
  /** Where its SQL begins, counted from 1. */
  readonly line: number
  readonly sql: string
  readonly fails: boolean
  /** One letter per column of a query's result; '' for a statement. */
  readonly types: string
  readonly sort: 'nosort' | 'rowsort' | 'valuesort'
  /** The lines after `----`. */
  readonly expected: readonly string[]
  /** Whether it is meant for an engine of another name. */
  readonly elsewhere: boolean
}

/** The name conditional records are asked about. */
const engine = 'sheaf'

/** Lines that a record of an expected failure may have in front of its SQL: the message of the failure. */
const messageLine = /^(External error|Error during planning|DataFusion error)\b/

/** The records of a script; `include` gives the text of another one by the path that is written. */
export function parseRecords(text: string, include: (path: string) => string): LogicRecord[] {
  const lines = text.split(/\r?\n/)
  const records: LogicRecord[] = []
  let elsewhere = false
  for (let i = 0; i < lines.length; i++) {
    const [word, argument = '', ...rest] = lines[i]!.trim().split(/\s+/)
    if (word === 'onlyif' || word === 'skipif') {
      elsewhere ||= (argument === engine) !== (word === 'onlyif')
      continue
    }
    if (word === 'halt') {
      if (!elsewhere) break
    } else if (word === 'include') {
      records.push(...parseRecords(include(argument), include))
    } else if (word === 'statement' || word === 'query') {
      const body = readBody(lines, i + 1)
      const fails = argument === 'error'
      if (fails) while (messageLine.test(body.sql[0] ?? '')) body.sql.shift()
      records.push({
        kind: word,
        line: i + 2,
        sql: body.sql.join('\n'),
        fails,
        types: word === 'query' && !fails ? argument : '',
        sort: fails ? 'nosort' : sortMode(rest),
        expected: body.expected,
        elsewhere,
      })
      i = body.end
    } else if (word !== '' && !word!.startsWith('#') && word !== 'hash-threshold') {
      throw new Error(`line ${i + 1} begins no record: ${lines[i]}`)
    } else {
      continue
    }
    elsewhere = false
  }
  return records
}

function sortMode(words: readonly string[]): LogicRecord['sort'] {
  return words[0] === 'rowsort' || words[0] === 'valuesort' ? words[0] : 'nosort'
}

/** SQL and results from line `from` on, up to an empty line. */
function readBody(lines: readonly string[], from: number) {
  const sql: string[] = []
  const expected: string[] = []
  let end = from
  let inResult = false
  for (; end < lines.length && lines[end] !== ''; end++) {
    const line = lines[end]!
    if (!inResult && line === '----') inResult = true
    else if (inResult) expected.push(line)
    else if (!line.startsWith('#')) sql.push(line)
  }
  return { sql, expected, end }
}
