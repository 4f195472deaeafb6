/** Reads SQLite files with the package `better-sqlite3`, or with `node:sqlite` if Node has it. Only this file uses them. */
/// <reference path="./better-sqlite3.d.ts" />
import type { Database } from 'better-sqlite3'
import { invalidInput, quote } from '../../src/errors.js'

/** A value of SQLite. */
export type SqliteValue = null | bigint | number | string | Uint8Array

export interface SqliteColumn {
  readonly name: string
  /** The declared type. Null: the column is an expression, or has no declared type. */
  readonly declared: string | null
}

/** The rows of one statement. */
export interface SqliteRows {
  readonly columns: readonly SqliteColumn[]
  readonly rows: Iterator<readonly SqliteValue[]>
  close(): void
}

/** A connection that cannot write. */
interface Connection {
  query(sql: string): Omit<SqliteRows, 'close'>
  close(): void
}

/** The parts of `node:sqlite` that are used. Types of Node 20 do not have them. */
interface NodeStatement {
  /** The text of the statement. */
  readonly sourceSQL: string
  setReadBigInts(enabled: boolean): void
  setReturnArrays(enabled: boolean): void
  columns(): { readonly name: string; readonly type: string | null }[]
  iterate(): Iterator<readonly SqliteValue[]>
}
interface NodeDatabase {
  prepare(sql: string): NodeStatement
  loadExtension(path: string): void
  close(): void
}
interface NodeSqlite {
  readonly DatabaseSync: new (
    path: string,
    options: { readOnly: boolean; allowExtension: boolean },
  ) => NodeDatabase
  readonly StatementSync: { readonly prototype: Partial<NodeStatement> }
}

type Open = (path: string, extensions: readonly string[]) => Connection

/**
 * Run a statement on a file that is opened for reading only. `extensions`: paths of extensions of SQLite to load.
 * Throws InvalidInput if no driver is installed, the file is not a database, or SQLite refuses the statement.
 */
export async function openSqlite(
  path: string,
  sql: string,
  extensions: readonly string[],
): Promise<SqliteRows> {
  const open = await findDriver()
  let connection: Connection | undefined
  try {
    connection = open(path, extensions)
    const { columns, rows } = connection.query(sql)
    return { columns, rows, close: () => closeAll(rows, connection) }
  } catch (cause) {
    connection?.close()
    throw sqliteError(path, cause)
  }
}

/** Close a connection. A statement that is not finished must end first. */
function closeAll(rows: Iterator<unknown>, connection: Connection | undefined): void {
  rows.return?.()
  connection?.close()
}

/** Convert an error of a driver. */
export function sqliteError(path: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return invalidInput(`cannot read ${quote(path)} with SQLite: ${reason}`, { cause })
}

async function findDriver(): Promise<Open> {
  try {
    const { default: Database } = await import('better-sqlite3')
    // Opening a database in memory loads the native part of the package, which may be missing.
    new Database(':memory:').close()
    return (path, extensions) => overPackage(Database, path, extensions)
  } catch (cause) {
    const node = await importNode()
    if (node !== undefined) return (path, extensions) => overNode(node, path, extensions)
    throw invalidInput('readSqlite needs the package "better-sqlite3", which cannot be loaded', {
      hint: 'npm install better-sqlite3, or use Node 24 or newer',
      cause,
    })
  }
}

/** Return `node:sqlite`, or undefined if Node has none, or one without the names of columns. */
async function importNode(): Promise<NodeSqlite | undefined> {
  const name = 'node:sqlite'
  try {
    const found = (await import(/* webpackIgnore: true */ /* @vite-ignore */ name)) as NodeSqlite
    const { columns, setReturnArrays, iterate } = found.StatementSync.prototype
    return columns && setReturnArrays && iterate ? found : undefined
  } catch {
    return undefined
  }
}

function overPackage(
  open: new (path: string, options: object) => Database,
  path: string,
  extensions: readonly string[],
): Connection {
  const database = new open(path, { readonly: true, fileMustExist: true })
  return closedOnError(database, () => {
    for (const extension of extensions) database.loadExtension(extension)
    database.defaultSafeIntegers(true)
    return {
      query: sql => {
        const statement = database.prepare(sql)
        if (!statement.reader) throw new Error('the query returns no rows')
        const columns = statement.columns().map(({ name, type }) => ({ name, declared: type }))
        return { columns, rows: statement.raw(true).iterate() }
      },
      close: () => database.close(),
    }
  })
}

function overNode({ DatabaseSync }: NodeSqlite, path: string, extensions: readonly string[]): Connection {
  const database = new DatabaseSync(path, { readOnly: true, allowExtension: extensions.length > 0 })
  return closedOnError(database, () => {
    for (const extension of extensions) database.loadExtension(extension)
    return {
      query: sql => {
        const statement = database.prepare(sql)
        statement.setReadBigInts(true)
        statement.setReturnArrays(true)
        // Node ignores the text after the first statement.
        if (!isBlank(sql.slice(statement.sourceSQL.length)))
          throw new Error('the query has more than one statement')
        const columns = statement.columns().map(({ name, type }) => ({ name, declared: type }))
        if (columns.length === 0) throw new Error('the query returns no rows')
        return { columns, rows: statement.iterate() }
      },
      close: () => database.close(),
    }
  })
}

/** Return whether a text of SQL has only white space, comments and semicolons. */
function isBlank(sql: string): boolean {
  return /^(?:[\s;]|--[^\n]*(?:\n|$)|\/\*(?:[^*]|\*(?!\/))*(?:\*\/|$))*$/.test(sql)
}

function closedOnError<T>(database: { close(): unknown }, work: () => T): T {
  try {
    return work()
  } catch (error) {
    database.close()
    throw error
  }
}
