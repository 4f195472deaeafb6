/**
 * Parses the SQL that defines a materialized view in requests of LanceDB's clients:
 *
 *     SELECT * | expression AS name, column, .. FROM table | namespace.table [WHERE condition]
 *
 * This module finds only where an expression begins and ends. The engine parses expressions when it binds the query to
 * its source table.
 */

import { cut, invalidInput, quote, type SheafError, unsupported } from '../errors.js'
import { inBackticks } from '../primitives/in-backticks.js'
import type { Request } from './calls.js'
import { parse } from './parse.js'
import { queryIn, type ViewQuery, viewQuery } from './view-shapes.js'

/**
 * Return the query of a new view. Null if Sheaf does not run the query, because it is in another form. Throws
 * InvalidInput for an invalid query, and Unsupported for a query that a view cannot have.
 */
export function queryOf({
  query,
  source_query,
}: Pick<Request<'createMaterializedView'>, 'query' | 'source_query'>): ViewQuery | null {
  return query === undefined ? queryIn(source_query!) : parse(viewQuery, readSelect(query), 'query')
}

interface Token {
  readonly kind: 'word' | 'quoted' | 'other'
  readonly text: string
  readonly start: number
  /** Number of open brackets before the token. */
  readonly depth: number
}

/**
 * Matches one token: blanks, a comment, a string, a name in quotes, a word, or a single character. An unclosed comment
 * or quote extends to the end of the text, so that no part of a text is scanned twice.
 */
const pattern =
  /(?<blank>\s+|--[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*))|(?<quoted>"(?:[^"]|"")*"?|`(?:[^`]|``)*`?)|(?<word>[\p{ID_Start}_][\p{ID_Continue}]*)|'(?:[^']|'')*'?|[\d.]*\d|[\s\S]/gu

function tokensOf(text: string): readonly Token[] {
  const tokens: Token[] = []
  let depth = 0
  for (const { 0: token, index: start, groups } of text.matchAll(pattern)) {
    if (groups!.blank !== undefined) continue
    if (token === ')' || token === ']') depth--
    const kind = groups!.word !== undefined ? 'word' : groups!.quoted !== undefined ? 'quoted' : 'other'
    tokens.push({ kind, text: token, start, depth })
    if (token === '(' || token === '[') depth++
  }
  return tokens
}

/** Clauses that a view cannot have, because it has exactly one row for each source row that passes WHERE. */
const otherClauses = ['GROUP BY', 'ORDER BY', 'LIMIT', 'OFFSET', 'HAVING', 'UNION', 'JOIN', 'QUALIFY']

/** Parse a SELECT. Throws InvalidInput for other statements, and Unsupported for a query that a view cannot have. */
function readSelect(text: string): ViewQuery {
  return new Select(text).read()
}

class Select {
  readonly #text: string
  readonly #tokens: readonly Token[]
  #at = 0

  constructor(text: string) {
    this.#text = text
    this.#tokens = tokensOf(text)
  }

  read(): ViewQuery {
    if (!this.#skip('SELECT')) throw this.#unexpected('expected SELECT')
    if (this.#isWord('DISTINCT')) throw clauseUnsupported('SELECT DISTINCT')
    const columns = this.#columns()
    this.#at++
    const table = [this.#name()]
    while (this.#here()?.text === '.') {
      this.#at++
      table.push(this.#name())
    }
    const filter = this.#filter()
    return { table, ...(columns !== undefined && { columns }), ...(filter !== undefined && { filter }) }
  }

  /** Read the columns before FROM. Return undefined for `*`, which means all columns. */
  #columns(): ViewQuery['columns'] {
    const named: [name: string, expression: string][] = []
    let isAll = false
    for (;;) {
      const first = this.#at
      while (!this.#isComma() && !this.#isFrom()) {
        if (this.#here() === undefined) throw this.#unexpected('expected FROM and a table')
        this.#at++
      }
      const item = this.#tokens.slice(first, this.#at)
      if (item.length === 0) throw this.#unexpected('expected a column')
      if (item.length === 1 && item[0]!.text === '*') isAll = true
      else named.push(this.#column(item))
      if (this.#isFrom()) break
      this.#at++
    }
    if (!isAll) return columnsOf(named)
    if (named.length === 0) return undefined
    throw unsupported('a view has either all columns of its source (*) or named columns, not both')
  }

  #column(item: readonly Token[]): [name: string, expression: string] {
    const last = item.at(-1)!
    const expression = (to: Token | undefined) =>
      this.#text.slice(item[0]!.start, to?.start ?? last.start + last.text.length).trim()
    const isNamed = item.length > 2 && isKeyword(item.at(-2)!, 'AS') && last.kind !== 'other'
    if (isNamed) return [nameIn(last), expression(item.at(-2))]
    if (item.length === 1 && last.kind !== 'other') return [nameIn(last), inBackticks(nameIn(last))]
    throw invalidInput(`the column ${quote(cut(expression(undefined)))} of the view has no name`, {
      hint: 'give the column a name with AS, for example: upper(name) AS shout',
    })
  }

  #filter(): string | undefined {
    this.#refuseClauses()
    if (this.#here() === undefined) return undefined
    if (!this.#skip('WHERE')) throw this.#unexpected('expected WHERE or the end')
    const start = this.#here()?.start
    if (start === undefined) throw this.#unexpected('expected a condition')
    for (; this.#here() !== undefined; this.#at++) this.#refuseClauses()
    return this.#text.slice(start).trim()
  }

  #refuseClauses(): void {
    const [here, next] = this.#tokens.slice(this.#at)
    if (here === undefined || here.depth !== 0) return
    for (const clause of otherClauses) {
      const [first, second] = clause.split(' ') as [string, string?]
      if (!isKeyword(here, first)) continue
      // The word may also be the name of a column, for example in `limit = 3`.
      const isClause =
        second === undefined ? next !== undefined && next.kind !== 'other' : isKeyword(next, second)
      if (isClause || (second === undefined && /^\d/.test(next?.text ?? ''))) throw clauseUnsupported(clause)
    }
  }

  /** Return whether the current token FROM begins the FROM clause. In `a IS DISTINCT FROM b` it does not. */
  #isFrom(): boolean {
    const before = this.#tokens[this.#at - 1]
    return this.#isWord('FROM') && this.#here()!.depth === 0 && !isKeyword(before, 'DISTINCT')
  }

  #isComma(): boolean {
    const here = this.#here()
    return here?.text === ',' && here.depth === 0
  }

  #name(): string {
    const here = this.#here()
    if (here === undefined || here.kind === 'other') throw this.#unexpected('expected the name of a table')
    this.#at++
    return nameIn(here)
  }

  #here(): Token | undefined {
    return this.#tokens[this.#at]
  }

  #isWord(word: string): boolean {
    return isKeyword(this.#here(), word)
  }

  #skip(word: string): boolean {
    if (!this.#isWord(word)) return false
    this.#at++
    return true
  }

  #unexpected(message: string): SheafError {
    const here = this.#here()
    const found = here === undefined ? 'the end' : quote(cut(this.#text.slice(here.start), 40))
    return invalidInput(`query of the view: ${message}, found ${found}`, {
      hint: 'write SELECT columns FROM table WHERE condition',
      at: { offset: here?.start ?? this.#text.length, length: here?.text.length ?? 0 },
    })
  }
}

function isKeyword(token: Token | undefined, word: string): boolean {
  return token?.kind === 'word' && token.text.toUpperCase() === word
}

function nameIn({ kind, text }: Token): string {
  if (kind === 'word') return text
  const mark = text[0]!
  const marks = text.split(mark).length - 1
  if (marks % 2 === 1) throw invalidInput(`query of the view: the name ${quote(text)} has no closing ${mark}`)
  const name = text.slice(1, -1).replaceAll(mark + mark, mark)
  if (name === '') throw invalidInput('query of the view: a name between quotes is empty')
  return name
}

function columnsOf(named: readonly [name: string, expression: string][]): ViewQuery['columns'] {
  const aliases: Record<string, string> = Object.create(null)
  for (const [name, expression] of named) {
    if (name in aliases) throw invalidInput(`the view has two columns named ${quote(name)}`)
    aliases[name] = expression
  }
  return { column_aliases: aliases }
}

function clauseUnsupported(clause: string): SheafError {
  return unsupported(
    `the query of a view cannot have ${clause}, because a view has one row for each source row that passes WHERE`,
    {
      hint: 'use this clause in queries that read the view',
    },
  )
}

/** Words that cannot be column names without quotes in an expression or a query. */
const reserved = new Set(
  'select from where as and or not is in between like ilike escape null true false case when then else end distinct all interval array both leading trailing limit offset group order having union join qualify'.split(
    ' ',
  ),
)

/** Return the SQL text of a name. The name is in quotes unless it is a plain word in lower case. */
function nameText(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) && !reserved.has(name) ? name : inBackticks(name)
}

/**
 * Return a query as a SELECT, which `readSelect` can parse. `all`: the columns of the view if the query has no list of
 * columns.
 */
export function selectText({ table, columns, filter }: ViewQuery, all: readonly string[]): string {
  const list = projectionsOf({ columns }, all).map(({ output_column: name, expression }) =>
    expression === nameText(name) ? expression : `${expression} AS ${nameText(name)}`,
  )
  const where = filter === undefined ? '' : ` WHERE ${filter}`
  return `SELECT ${list.join(', ')} FROM ${table.map(nameText).join('.')}${where}`
}

/**
 * Return the columns of a view with their expressions. `all`: the columns of the view if the query has no list of
 * columns.
 */
export function projectionsOf(
  { columns }: Pick<ViewQuery, 'columns'>,
  all: readonly string[],
): readonly { readonly output_column: string; readonly expression: string }[] {
  if (columns?.column_aliases !== undefined) {
    return Object.entries(columns.column_aliases).map(([name, text]) => {
      return { output_column: name, expression: text === inBackticks(name) ? nameText(name) : text }
    })
  }
  return (columns?.column_names ?? all).map(name => ({ output_column: name, expression: nameText(name) }))
}
