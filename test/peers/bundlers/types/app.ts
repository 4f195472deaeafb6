/** Compiled under every module resolution: each export has its types, and no name is `any`. */
import { connect, ErrorCode, type Namespace, SheafError, sql } from 'sheaf'
import { readCsv } from 'sheaf/files'
import { connectHttp, serve } from 'sheaf/http'
import type { operations } from 'sheaf/protocol'
import { connectWorker } from 'sheaf/worker'

type IsAny<T> = 0 extends 1 & T ? true : false
const typed: IsAny<
  | typeof connect
  | typeof SheafError
  | typeof readCsv
  | typeof serve
  | typeof operations
  | typeof connectWorker
> = false

export async function main(): Promise<void> {
  const ns: Namespace = await connect('memory://')
  await ns.createTable('csv', readCsv('rows.csv'))
  const table = await ns.createTable<{ id: number }>('t', [{ id: 1 }])
  const rows: readonly { id: number }[] = await table.query().where(sql`id > ${1}`).toArray()
  const server = await serve(ns, { port: 0 })
  const others: Namespace[] = [connectHttp(server.url), await connectWorker('data')]
  // @ts-expect-error: there is no such option
  await connect('memory://', { nonsense: 1 })
  try {
    await others[0]!.openTable('t')
  } catch (error) {
    if (error instanceof SheafError && error.code === ErrorCode.TableNotFound)
      console.log(error.name, rows, typed)
  }
}
