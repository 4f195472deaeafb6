/** Compiled under every module resolution: each export has its types, and no name is `any`. */
import { connect, ErrorCode, type Namespace, type RowOf, SheafError, schema, sql } from 'sheaf'
import { readCsv } from 'sheaf/files'
import { connectHttp, serve } from 'sheaf/http'
import type { operations } from 'sheaf/protocol'
import type { BlobStore, checkStore } from 'sheaf/storage'
import { connectWorker } from 'sheaf/worker'

type IsAny<T> = 0 extends 1 & T ? true : false
const typed: IsAny<
  | typeof connect
  | typeof SheafError
  | typeof readCsv
  | typeof serve
  | typeof operations
  | typeof connectWorker
  | typeof checkStore
  | BlobStore
> = false

export async function main(): Promise<void> {
  const ns: Namespace = await connect('memory://')
  await ns.createTable('csv', readCsv('rows.csv'))
  const table = await ns.createTable<{ id: number }>('t', [{ id: 1 }])
  const rows: readonly { id: number }[] = await table.query().where(sql`id > ${1}`).toArray()
  const server = await serve(ns, { port: 0 })
  const others: Namespace[] = [connectHttp(server.url), await connectWorker('data')]
  const docs = schema({ id: 'int64!', title: 'string', v: 'vector(2)' })
  const catalogue = await connect<{ docs: RowOf<typeof docs> }>('memory://', { int64: 'number' })
  const typedTable = await catalogue.createTable('docs', [], { schema: docs })
  const byId = typedTable.query().where('id = ?').select(['title']).prepare<[id: number]>()
  const title: string | null | undefined = (await byId.first([1]))?.title
  const page = await typedTable.search('a').page({ total: true, facets: ['title'] })
  const total: number = page.total + (page.facets.title[0]?.count ?? 0)
  await typedTable.update({ title: String(title), v: [1, total] })
  // @ts-expect-error: not a column
  typedTable.query().where(c => sql`${c.titel} = ${1}`)
  // @ts-expect-error: not a table of the catalogue
  catalogue.table('dosc')
  // @ts-expect-error: the value of the parameter is a number
  await byId.all(['1'])
  // @ts-expect-error: the column is text
  await typedTable.update({ title: 5 })
  // @ts-expect-error: there is no such option
  await connect('memory://', { nonsense: 1 })
  try {
    await others[0]!.openTable('t')
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.TableNotFound)
      console.log(error.name, rows, typed)
  }
}
