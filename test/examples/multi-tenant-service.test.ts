/** The example `examples/multi-tenant-service`, over the loopback interface. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectHttp } from '../../adapters/http/public.js'
import { connectTasks, type TaskList } from '../../examples/multi-tenant-service/client.js'
import { countOpenTasks, type Service, startService } from '../../examples/multi-tenant-service/service.js'
import { connect, type Namespace } from '../../src/index.js'

const keys = { acme: 'the key of acme', globex: 'the key of globex' }
const task = (id: string, day: number | null, title = `Task ${id}`) => ({
  id,
  title,
  due: day === null ? null : new Date(Date.UTC(2026, 3, day)),
  done: false,
})

let ns: Namespace
let service: Service
const open: { close(): Promise<void> }[] = []

function tasksOf(tenant: string, key: string): TaskList {
  const tasks = connectTasks(service.url, tenant, key)
  open.push(tasks)
  return tasks
}

beforeAll(async () => {
  ns = await connect('memory://')
  service = await startService(ns, keys, 0)
})

afterAll(async () => {
  for (const each of [...open, service, ns]) await each.close()
})

test('a tenant adds, lists and finishes tasks', async () => {
  const acme = tasksOf('acme', keys.acme)
  for (const each of [task('late', 9), task('none', null), task('soon', 2)]) await acme.add(each)
  expect(await acme.open()).toEqual([task('soon', 2), task('late', 9), task('none', null)])
  expect(await acme.finish('late')).toBe(true)
  expect(await acme.finish('late')).toBe(false)
  expect(await acme.open()).toEqual([task('soon', 2), task('none', null)])
})

test('the same task of two calls is stored once, and tenants may use the same ids', async () => {
  const globex = tasksOf('globex', keys.globex)
  const acme = tasksOf('acme', keys.acme)
  await globex.add(task('same', 1))
  await globex.add(task('same', 1))
  await acme.add(task('same', 5))
  expect(await globex.open()).toEqual([task('same', 1)])
  expect(await countOpenTasks(ns)).toEqual(
    new Map([
      ['acme', 3],
      ['globex', 1],
    ]),
  )
})

test('a tenant cannot read, write or list what belongs to another', async () => {
  const intruder = tasksOf('acme', keys.globex)
  await expect(intruder.open()).rejects.toMatchObject({ name: 'PermissionDenied' })
  await expect(intruder.add(task('x', 1))).rejects.toMatchObject({ name: 'PermissionDenied' })
  await expect(tasksOf('acme', 'no key').open()).rejects.toMatchObject({ name: 'Unauthenticated' })

  const globex = connectHttp(`${service.url}/db`, { headers: { 'x-api-key': keys.globex } })
  open.push(globex)
  expect(await globex.tableNames('globex')).toEqual(['tasks'])
  const denied = [
    globex.tableNames('acme'),
    globex.namespaceNames(),
    globex.dropNamespace('globex', { behavior: 'cascade' }),
    globex.renameTable('globex$tasks', 'acme$stolen'),
    globex.dropTable('acme$tasks'),
  ]
  for (const call of denied) await expect(call).rejects.toMatchObject({ name: 'PermissionDenied' })
})

test('the application answers its own paths', async () => {
  expect(await (await fetch(`${service.url}/health`)).text()).toBe('ok')
  expect((await fetch(`${service.url}/other`)).status).toBe(404)
  expect((await fetch(`${service.url}/db/v1/table/acme$tasks/rows`)).status).toBe(401)
})

test('a second start keeps the tasks', async () => {
  const again = await startService(ns, keys, 0)
  const acme = connectTasks(again.url, 'acme', keys.acme)
  expect((await acme.open()).length).toBe(3)
  await acme.close()
  await again.close()
})
