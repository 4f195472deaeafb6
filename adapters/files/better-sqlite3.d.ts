/** The parts of the package `better-sqlite3` that Sheaf uses. The package is optional, and not installed here. */
declare module 'better-sqlite3' {
  type Value = null | bigint | number | string | Uint8Array

  export interface Statement {
    /** Whether the statement returns rows. */
    readonly reader: boolean
    columns(): { readonly name: string; readonly type: string | null }[]
    raw(enabled: boolean): this
    iterate(): IterableIterator<readonly Value[]>
  }

  export class Database {
    constructor(path: string, options?: { readonly?: boolean; fileMustExist?: boolean })
    prepare(sql: string): Statement
    defaultSafeIntegers(enabled: boolean): this
    loadExtension(path: string): this
    close(): this
  }

  export default Database
}
