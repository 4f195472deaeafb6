/** The client of one tenant. */
import { connectHttp } from 'sheaf/http'
import type { Task } from './service.js'

export interface TaskList {
  /** Add a task. If the same task is sent again after a lost connection, it is stored once. */
  add(task: Task): Promise<void>
  /** Mark a task as done. Returns false if no open task has the id. */
  finish(id: string): Promise<boolean>
  /** List the open tasks, the most urgent first. */
  open(): Promise<readonly Task[]>
  close(): Promise<void>
}

/** Connect to the tasks of a tenant. Lost reads are sent again, and so are added tasks. */
export function connectTasks(url: string, tenant: string, key: string): TaskList {
  const ns = connectHttp(`${url}/db`, { headers: { 'x-api-key': key }, retries: 3, timeoutMs: 10_000 })
  const tasks = ns.table<Task>([tenant, 'tasks'])
  return {
    async add(task) {
      await tasks.add([task], { idempotencyKey: task.id })
    },
    async finish(id) {
      const { rows } = await tasks.update({ done: true }, 'id = ? AND NOT done', [id])
      return rows > 0
    },
    open: () => tasks.query().where('NOT done').orderBy('due', 'title').toArray(),
    close: () => ns.close(),
  }
}
