/** What processes keep that are killed or stopped while they hold a snapshot. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { shipped } from '../adapters/built.js'
import { temporaryRoots } from '../support/roots.js'

const freshRoot = temporaryRoots()
const maintenance = { keepVersionsMs: 0, keepOrphansMs: 0, compact: false }

/** A process that holds a snapshot of the root, from the moment it says so. */
async function reader(root: string): Promise<ChildProcess> {
  const program = `
    const { connect } = await import(${JSON.stringify(pathToFileURL(shipped('index')).href)})
    const ns = await connect(${JSON.stringify(root)})
    const snapshot = await ns.snapshot()
    console.log('holds')
    process.stdin.resume()`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  await once(child.stdout!, 'data')
  return child
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

describe.runIf(process.platform === 'linux')('a snapshot of another process on this machine', () => {
  test('is kept while that process is stopped, and released after it is killed, by any observer', async () => {
    const root = freshRoot()
    const ns = await connect(root, { maintenance })
    const table = await ns.createTable('t', [{ a: 1 }])
    const child = await reader(root)
    const { slot } = ns.stats().log
    child.kill('SIGSTOP')
    await table.add([{ a: 2 }])
    const file = expect.stringMatching(/^_pins\/[0-9a-f-]{36}-0$/)
    const held = { held: [{ kind: 'reader', slot, file, process: child.pid, stillMs: 0 }] }
    expect(await ns.optimize()).toEqual(held)
    await ns.close()
    await kill(child)
    const next = await connect(root, { maintenance })
    expect(await next.optimize()).toEqual({ held: [] })
    await next.close()
  })
})
