/** Carries statements out: what SQL says about tables and clauses is done here, expressions by the engine. */
import { existsSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { DataType, Field, Schema } from '../../../src/arrow/types.js'
import type { Answer, Engine, Query, Row } from './engine.js'
import { NoStatement, Skip } from './skip.js'
import type { DeclaredColumn, Ordering, Select, Source, Statement } from './statement.js'
import { arrowType, castName, type Flavour, unify } from './types.js'

type Rows = readonly (readonly unknown[])[]

/** Rows and the names of their columns. */
interface Relation extends Answer {
  readonly names: readonly string[]
}

export class Session {
  readonly #engine: Engine
  readonly #flavour: Flavour
  /** Where the files of external tables are. */
  readonly #folder: string
  readonly #tables = new Map<string, Schema>()
  #valueTables = 0

  constructor(engine: Engine, flavour: Flavour, folder: string) {
    this.#engine = engine
    this.#flavour = flavour
    this.#folder = folder
  }

  /** The rows of a query; the number of rows of an INSERT; no rows otherwise. */
  async run(statement: Statement): Promise<Answer> {
    switch (statement.kind) {
      case 'select':
      case 'values':
        return this.#relation(statement, null)
      case 'create':
        await this.#create(statement)
        return none
      case 'external':
        await this.#createExternal(statement)
        return none
      case 'insert':
        return this.#insert(statement)
      case 'delete':
        await this.#engine.delete(statement.table, statement.where ?? 'true')
        return none
      case 'drop':
        if (statement.ifExists && !this.#tables.has(statement.table)) return none
        await this.#drop(statement.table)
        return none
      case 'nothing':
        return none
    }
  }

  async #create({
    table,
    existing,
    columns,
    source,
  }: Statement & { readonly kind: 'create' }): Promise<void> {
    if (this.#tables.has(table)) {
      if (existing === 'keep') return
      if (existing === 'replace') await this.#drop(table)
    }
    const declared = columns === null ? null : this.#fields(columns)
    const relation = source === null ? null : await this.#relation(source, declared)
    const fields =
      declared ?? relation?.types.map((type, i) => ({ name: relation.names[i]!, type, nullable: true })) ?? []
    await this.#make(table, { fields }, relation === null ? [] : rowsFor(fields, relation))
  }

  /** A table of the CSV file, when it is among the data. */
  async #createExternal(statement: Statement & { readonly kind: 'external' }): Promise<void> {
    const path = join(this.#folder, 'testing-data', 'csv', basename(statement.location))
    if (statement.format !== 'csv' || !existsSync(path)) throw new Skip('other DDL')
    const fields = this.#fields(statement.columns)
    const lines = readFileSync(path, 'utf8').trim().split('\n').slice(1)
    const rows = lines.map(line =>
      Object.fromEntries(
        line.split(',').map((text, i) => [fields[i]!.name, csvValue(text, fields[i]!.type)]),
      ),
    )
    await this.#make(statement.table, { fields }, rows)
  }

  async #make(table: string, schema: Schema, rows: readonly Row[]): Promise<void> {
    await this.#engine.create(table, schema, rows)
    this.#tables.set(table, schema)
  }

  async #drop(table: string): Promise<void> {
    await this.#engine.drop(table)
    this.#tables.delete(table)
  }

  async #insert({ table, columns, source }: Statement & { readonly kind: 'insert' }): Promise<Answer> {
    const schema = this.#tables.get(table)
    // The engine knows best how to refuse it.
    if (schema === undefined) await this.#engine.insert(table, [])
    const fields = schema?.fields ?? []
    const named = columns?.map(name => fields.find(field => field.name === name)) ?? fields
    const targets = named.map(field => {
      if (field === undefined) throw new NoStatement('INSERT names a column the table has not')
      return field
    })
    const relation = await this.#relation(source, targets)
    await this.#engine.insert(table, rowsFor(targets, relation))
    return {
      types: [{ kind: 'int', bits: 64, signed: false }],
      rows: [[BigInt(relation.rows.length)]],
    }
  }

  #fields(columns: readonly DeclaredColumn[]): Field[] {
    return columns.map(({ name, type }) => ({ name, type: arrowType(type, this.#flavour), nullable: true }))
  }

  /** `targets`: the columns the rows are for; null when they are of the types they have. */
  async #relation(source: Source, targets: readonly Field[] | null): Promise<Relation> {
    return source.kind === 'values' ? this.#values(source.rows, targets) : this.#select(source.select)
  }

  /** Rows of expressions: all of them in one query of one row. Those for a column are cast to its type. */
  async #values(rows: readonly (readonly string[])[], targets: readonly Field[] | null): Promise<Relation> {
    const width = rows[0]!.length
    if (rows.some(row => row.length !== width) || (targets !== null && targets.length !== width)) {
      throw new NoStatement('rows of VALUES have another number of columns')
    }
    const outputs = rows.flatMap(row =>
      row.map((expression, i) => {
        const type = targets === null ? null : castName(targets[i]!.type)
        return type === null ? expression : `CAST(${expression} AS ${type})`
      }),
    )
    const answer = await this.#engine.select({ ...oneRow, outputs })
    const values = answer.rows[0]!
    const types = Array.from({ length: width }, (_, column) =>
      rows.reduce<DataType>((type, _, row) => unify(type, answer.types[row * width + column]!), {
        kind: 'null',
      }),
    )
    return {
      types,
      names: types.map((_, i) => `column${i + 1}`),
      rows: rows.map((_, row) =>
        types.map((type, i) => reshape(values[row * width + i], answer.types[row * width + i]!, type)),
      ),
    }
  }

  async #select(select: Select): Promise<Relation> {
    const { from } = select
    if (from === null) return this.#query(select, null, [])
    if (from.source.kind === 'table') {
      const { name } = from.source
      return this.#query(select, name, this.#tables.get(name)?.fields ?? [])
    }
    const relation = await this.#values(from.source.rows, null)
    const names = from.columns ?? relation.names
    const fields = relation.types.map((type, i) => ({ name: names[i]!, type, nullable: true }))
    const table = `values_${this.#valueTables++}`
    await this.#engine.create(table, { fields }, rowsFor(fields, relation))
    try {
      return await this.#query(select, table, fields)
    } finally {
      await this.#engine.drop(table)
    }
  }

  async #query(select: Select, table: string | null, fields: readonly Field[]): Promise<Relation> {
    const outputs = select.outputs.flatMap(output =>
      output === '*' ? fields.map(({ name }) => ({ expression: quoted(name), alias: name })) : [output],
    )
    const expressions = outputs.map(({ expression }) => expression)
    const isColumn = (name: string) => fields.some(field => field.name === name.toLowerCase())
    /** The output that a number or an alias stands for, or that is the same expression; -1 for none. */
    const outputNamed = (text: string) => {
      if (/^\d+$/.test(text)) return Number(text) - 1
      const name = /^`.*`$/.test(text) ? text.slice(1, -1) : text.toLowerCase()
      const aliased = outputs.findIndex(({ alias }) => alias === name)
      return aliased === -1 ? expressions.indexOf(text) : aliased
    }
    const groupBy = select.groupBy.map(text => {
      const output = isColumn(text) ? -1 : outputNamed(text)
      return output === -1 ? text : expressions[output]!
    })
    const orderBy = select.orderBy.map(ordering => {
      let output = outputNamed(ordering.expression)
      if (output === -1) output = expressions.push(ordering.expression) - 1
      return { output, ascending: ordering.ascending, nullsFirst: this.#nullsFirst(ordering) }
    })
    const answer = await this.#engine.select({
      table,
      where: select.where,
      outputs: expressions,
      groupBy,
      distinct: select.distinct,
      orderBy,
      limit: select.limit,
      offset: select.offset,
    })
    const width = outputs.length
    return {
      types: answer.types.slice(0, width),
      rows: width === expressions.length ? answer.rows : answer.rows.map(row => row.slice(0, width)),
      names: outputs.map(({ alias, expression }) => alias ?? expression.replaceAll('`', '').toLowerCase()),
    }
  }

  /** NULL is the smallest value for SQLite, the greatest for DataFusion. */
  #nullsFirst({ nullsFirst, ascending }: Ordering): boolean {
    return nullsFirst ?? ascending === (this.#flavour === 'sqlite')
  }
}

const none: Answer = { types: [], rows: [] }

const oneRow: Query = {
  table: null,
  where: null,
  outputs: [],
  groupBy: [],
  distinct: false,
  orderBy: [],
  limit: null,
  offset: 0,
}

function quoted(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}

/** Rows as objects of the fields, which take the columns by their place. */
function rowsFor(
  fields: readonly Field[],
  { rows, types }: { readonly rows: Rows; readonly types: readonly DataType[] },
): Row[] {
  return rows.map(row =>
    Object.fromEntries(fields.map(({ name, type }, i) => [name, reshape(row[i], types[i]!, type)])),
  )
}

/** A struct takes the names of the type it goes into, field by field. */
function reshape(value: unknown, from: DataType, to: DataType): unknown {
  if (value === null || from.kind !== 'struct' || to.kind !== 'struct') return value
  const fields = value as Readonly<Record<string, unknown>>
  return Object.fromEntries(
    to.children.map((child, i) => {
      const source = from.children[i]
      return [child.name, source === undefined ? null : reshape(fields[source.name], source.type, child.type)]
    }),
  )
}

function csvValue(text: string, type: DataType): unknown {
  if (type.kind === 'int') return BigInt(text)
  return type.kind === 'float' ? Number(text) : text
}
