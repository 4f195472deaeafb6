/**
 * Statements as plain data. Expressions stay text, for the engine to read: without the qualifier of the one table there
 * is, and with names in backticks, which is how this dialect writes what the scripts write in double quotes.
 */
import { Cursor } from './cursor.js'
import { refuseFunctions } from './dialect.js'
import { NoStatement, Skip } from './skip.js'
import { isSymbol, nameOf, slice, splitAtCommas, type Token, type Tokens, tokenize } from './tokens.js'

export interface DeclaredColumn {
  readonly name: string
  readonly type: DeclaredType
}

/** `fields` of a struct; one without a name is called by its number. */
export interface DeclaredType {
  readonly name: string
  readonly args: readonly number[]
  readonly fields: readonly DeclaredColumn[]
}

export type Source =
  | { readonly kind: 'values'; readonly rows: readonly (readonly string[])[] }
  | { readonly kind: 'select'; readonly select: Select }

export interface From {
  readonly source: { readonly kind: 'table'; readonly name: string } | (Source & { readonly kind: 'values' })
  /** Names given to the columns by the alias. */
  readonly columns: readonly string[] | null
}

export interface Output {
  readonly expression: string
  readonly alias: string | null
}

export interface Ordering {
  readonly expression: string
  readonly ascending: boolean
  readonly nullsFirst: boolean | null
}

export interface Select {
  readonly distinct: boolean
  /** `*` stands for all columns. */
  readonly outputs: readonly (Output | '*')[]
  readonly from: From | null
  readonly where: string | null
  readonly groupBy: readonly string[]
  readonly orderBy: readonly Ordering[]
  readonly limit: number | null
  readonly offset: number
}

export type Statement =
  | Source
  | {
      readonly kind: 'create'
      readonly table: string
      readonly existing: 'fail' | 'keep' | 'replace'
      readonly columns: readonly DeclaredColumn[] | null
      readonly source: Source | null
    }
  | {
      readonly kind: 'external'
      readonly table: string
      readonly columns: readonly DeclaredColumn[]
      readonly format: string
      readonly location: string
    }
  | {
      readonly kind: 'insert'
      readonly table: string
      readonly columns: readonly string[] | null
      readonly source: Source
    }
  | { readonly kind: 'delete'; readonly table: string; readonly where: string | null }
  | { readonly kind: 'drop'; readonly table: string; readonly ifExists: boolean }
  /** Changes no result here: CREATE INDEX, SET. */
  | { readonly kind: 'nothing' }

/** Parses a statement. Throws Skip for what needs a feature that is no part of the task, NoStatement for a fault. */
export function parseStatement(text: string): Statement {
  const cursor = new Cursor(tokenize(text))
  const statement = parse(cursor)
  if (cursor.token !== undefined) throw new NoStatement(`what is ${cursor.rest()}?`)
  return statement
}

function parse(cursor: Cursor): Statement {
  refuseFeatures(cursor.tokens)
  switch (cursor.token?.keyword) {
    case 'SELECT':
    case 'VALUES':
      return parseSource(cursor)
    case 'CREATE':
      return parseCreate(cursor)
    case 'INSERT':
      return parseInsert(cursor)
    case 'DELETE':
      cursor.expect('DELETE', 'FROM')
      return {
        kind: 'delete',
        table: cursor.name(),
        where: cursor.take('WHERE') ? textOf(cursor.until(), []) : null,
      }
    case 'DROP':
      return parseDrop(cursor)
    case 'SET':
      cursor.until()
      return { kind: 'nothing' }
    case 'UPDATE':
      throw new Skip('update')
    case 'ALTER':
    case 'SHOW':
      throw new Skip('other DDL')
    default:
      throw new NoStatement(`no statement begins with ${cursor.token?.value}`)
  }
}

/** What a statement may be skipped for wherever it stands. */
function refuseFeatures({ list }: Tokens): void {
  const [first] = list
  if (first?.keyword === 'EXPLAIN') throw new Skip('EXPLAIN')
  const selects = list.filter(token => token.keyword === 'SELECT')
  // The one SELECT of CREATE TABLE .. AS SELECT and INSERT .. SELECT is none inside another.
  const isNested = selects.some(token => token.depth > 0) || list.some(isTableMember)
  if (first?.keyword === 'WITH' || isNested) throw new Skip('sub-query')
  // Two queries made one by UNION and the like: neither is the whole.
  if (list.some(({ keyword }) => setOperations.has(keyword))) throw new Skip('sub-query')
  if (list.some(({ keyword, depth }) => keyword === 'JOIN' && depth === 0)) throw new Skip('join')
}

const setOperations = new Set(['UNION', 'EXCEPT', 'INTERSECT'])

/** `x IN t`: the rows of a table. */
function isTableMember(token: Token, i: number, list: readonly Token[]): boolean {
  const next = list[i + 1]
  return token.keyword === 'IN' && (next?.kind === 'name' || next?.kind === 'quoted')
}

function parseSource(cursor: Cursor): Source {
  return cursor.token?.keyword === 'VALUES'
    ? parseValues(cursor)
    : { kind: 'select', select: parseSelect(cursor) }
}

function parseValues(cursor: Cursor): Source & { readonly kind: 'values' } {
  cursor.expect('VALUES')
  const rows: string[][] = []
  do {
    rows.push(splitAtCommas(cursor.brackets()).map(value => textOf(value, [])))
  } while (cursor.takeSymbol(','))
  return { kind: 'values', rows }
}

function parseCreate(cursor: Cursor): Statement {
  cursor.expect('CREATE')
  const replaces = cursor.take('OR', 'REPLACE')
  const unique = cursor.take('UNIQUE')
  if (cursor.take('INDEX')) {
    cursor.until()
    return { kind: 'nothing' }
  }
  const external = cursor.take('EXTERNAL')
  if (unique || !cursor.take('TABLE')) throw new Skip('other DDL')
  const keeps = cursor.take('IF', 'NOT', 'EXISTS')
  const table = cursor.name()
  const columns = isSymbol(cursor.token, '(') ? declaredColumns(cursor.brackets()) : null
  if (external) {
    cursor.expect('STORED', 'AS')
    const format = cursor.name()
    cursor.expect('LOCATION')
    const location = cursor.token!.value
    cursor.until()
    return { kind: 'external', table, columns: columns ?? [], format, location }
  }
  const source = cursor.take('AS') ? parseSource(cursor) : null
  const existing = replaces ? 'replace' : keeps ? 'keep' : 'fail'
  return { kind: 'create', table, existing, columns, source }
}

function parseInsert(cursor: Cursor): Statement {
  cursor.expect('INSERT', 'INTO')
  const table = cursor.name()
  const columns = isSymbol(cursor.token, '(')
    ? splitAtCommas(cursor.brackets()).map(({ list }) => nameOf(list[0])!)
    : null
  return { kind: 'insert', table, columns, source: parseSource(cursor) }
}

function parseDrop(cursor: Cursor): Statement {
  cursor.expect('DROP')
  if (cursor.take('INDEX')) {
    cursor.until()
    return { kind: 'nothing' }
  }
  if (!cursor.take('TABLE')) throw new Skip('other DDL')
  const ifExists = cursor.take('IF', 'EXISTS')
  return { kind: 'drop', table: cursor.name(), ifExists }
}

function parseSelect(cursor: Cursor): Select {
  cursor.expect('SELECT')
  const distinct = cursor.take('DISTINCT')
  if (!distinct) cursor.take('ALL')
  const items = splitAtCommas(cursor.until(...clauses))
  const { from, qualifiers } = cursor.take('FROM') ? parseFrom(cursor) : { from: null, qualifiers: [] }
  const texts = (...words: string[]) =>
    cursor.take(...words) ? splitAtCommas(cursor.until(...clauses)) : null
  const where = cursor.take('WHERE') ? textOf(cursor.until(...clauses), qualifiers) : null
  const groupBy = texts('GROUP', 'BY') ?? []
  if (cursor.token?.keyword === 'HAVING') throw new Skip('aggregate beyond')
  const orderBy = texts('ORDER', 'BY') ?? []
  const limit = cursor.take('LIMIT') ? cursor.count() : null
  const offset = cursor.take('OFFSET') ? cursor.count() : 0
  return {
    distinct,
    outputs: items.map(item => outputOf(item, qualifiers)),
    from,
    where,
    groupBy: groupBy.map(item => textOf(item, qualifiers)),
    orderBy: orderBy.map(item => orderingOf(item, qualifiers)),
    limit,
    offset,
  }
}

const clauses = ['FROM', 'WHERE', 'GROUP', 'HAVING', 'ORDER', 'LIMIT', 'OFFSET']

function parseFrom(cursor: Cursor): { readonly from: From; readonly qualifiers: readonly string[] } {
  const part = cursor.until(...clauses)
  if (splitAtCommas(part).length > 1) throw new Skip('join')
  const inner = new Cursor(part)
  const isValues = isSymbol(inner.token, '(') && part.list[1]?.keyword === 'VALUES'
  const source = isValues
    ? parseValues(new Cursor(inner.brackets()))
    : ({ kind: 'table', name: inner.name() } as const)
  inner.take('AS')
  const alias = inner.token === undefined ? null : inner.name()
  const columns = inner.token === undefined ? null : splitAtCommas(inner.brackets())
  const names = source.kind === 'table' ? [source.name] : []
  if (alias !== null) names.push(alias)
  return {
    from: { source, columns: columns?.map(({ list }) => nameOf(list[0])!) ?? null },
    qualifiers: names,
  }
}

function outputOf(item: Tokens, qualifiers: readonly string[]): Output | '*' {
  const { list } = item
  if (isSymbol(list.at(-1), '*') && (list.length === 1 || (list.length === 3 && isSymbol(list[1], '.'))))
    return '*'
  const cut = aliasAt(list)
  if (cut === null) return { expression: textOf(item, qualifiers), alias: null }
  return { expression: textOf(slice(item, 0, cut), qualifiers), alias: nameOf(list.at(-1)) }
}

/** Where the alias begins, with or without AS; null when there is none. */
function aliasAt(list: readonly Token[]): number | null {
  const [before, previous, last] = [list.at(-3), list.at(-2), list.at(-1)]
  if (last === undefined || previous === undefined || nameOf(last) === null) return null
  if (previous.keyword === 'AS' && previous.depth === list[0]!.depth) return list.length - 2
  if (notAliases.has(last.keyword) || last.depth > list[0]!.depth) return null
  // INTERVAL '1' DAY, x::int UNSIGNED
  if (before?.keyword === 'INTERVAL' || isSymbol(before, '::')) return null
  const endsOperand =
    previous.kind === 'symbol' ? ')]}'.includes(previous.value) : !operatorWords.has(previous.keyword)
  return endsOperand ? list.length - 1 : null
}

const notAliases = new Set(['NULL', 'TRUE', 'FALSE', 'UNKNOWN', 'END'])
const operatorWords = new Set(
  'AND OR NOT IS LIKE ILIKE IN BETWEEN CASE WHEN THEN ELSE DISTINCT FROM INTERVAL ESCAPE'.split(' '),
)

function orderingOf(item: Tokens, qualifiers: readonly string[]): Ordering {
  const words = [...item.list]
  let nullsFirst: boolean | null = null
  if (words.at(-2)?.keyword === 'NULLS') {
    nullsFirst = words.pop()!.keyword === 'FIRST'
    words.pop()
  }
  const descends = words.at(-1)?.keyword === 'DESC'
  if (descends || words.at(-1)?.keyword === 'ASC') words.pop()
  const expression = textOf({ text: item.text, list: words }, qualifiers)
  return { expression, ascending: !descends, nullsFirst }
}

/** The text of an expression as the engine reads it. */
function textOf(tokens: Tokens, qualifiers: readonly string[]): string {
  refuseFunctions(tokens)
  const { text, list } = tokens
  let out = ''
  let end = list[0]?.start ?? 0
  for (let i = 0; i < list.length; i++) {
    const { start, end: next, quote, value } = list[i]!
    out += text.slice(end, start)
    end = next
    const isFirst = isSymbol(list[i + 1], '.') && !isSymbol(list[i - 1], '.')
    if (isFirst && qualifiers.includes(nameOf(list[i]) ?? '')) {
      i++
      end = list[i]!.end
    } else {
      out += quote === '"' ? `\`${value.replaceAll('`', '``')}\`` : text.slice(start, next)
    }
  }
  return out
}

const constraints = new Set(['NOT', 'NULL', 'PRIMARY', 'UNIQUE', 'DEFAULT', 'CHECK', 'REFERENCES'])

/** `a INT NOT NULL, b struct<c VARCHAR, d struct(e INT)>, ...` */
function declaredColumns(tokens: Tokens): DeclaredColumn[] {
  const cursor = new Cursor(tokens)
  const columns: DeclaredColumn[] = []
  do {
    // DataFusion allows a comma at the end.
    if (cursor.token === undefined) break
    const name = cursor.name()
    columns.push({ name, type: declaredType(cursor) })
    while (cursor.token !== undefined && !isSymbol(cursor.token, ',')) cursor.next()
  } while (cursor.takeSymbol(','))
  return columns
}

function declaredType(cursor: Cursor): DeclaredType {
  let name = cursor.name()
  if (name === 'struct') return { name, args: [], fields: declaredFields(cursor) }
  const args: number[] = []
  if (isSymbol(cursor.token, '(')) {
    for (const { list } of splitAtCommas(cursor.brackets())) args.push(Number(list[0]?.value))
  }
  while (cursor.token?.kind === 'name' && !constraints.has(cursor.token.keyword)) name += ` ${cursor.name()}`
  return { name, args, fields: [] }
}

function declaredFields(cursor: Cursor): DeclaredColumn[] {
  const close = isSymbol(cursor.token, '<') ? '>' : ')'
  cursor.next()
  const fields: DeclaredColumn[] = []
  do {
    const after = cursor.tokens.list[cursor.index + 1]
    const isNamed = after?.kind === 'name'
    const name = isNamed ? cursor.name() : `c${fields.length}`
    fields.push({ name, type: declaredType(cursor) })
  } while (cursor.takeSymbol(','))
  if (!cursor.takeSymbol(close)) throw new NoStatement('the struct is not closed')
  return fields
}
