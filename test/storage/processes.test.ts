import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, test, vi } from 'vitest'
import { lookUp, type ProcessMark, parseMark, systemProcesses } from '../../src/storage/processes.js'

const own = systemProcesses.own!
const children: ChildProcess[] = []

/** A process that waits, as its own records would name it. */
async function waiting(): Promise<{ readonly child: ChildProcess; readonly mark: ProcessMark }> {
  const child = spawn(process.execPath, ['-e', 'console.log(); process.stdin.resume()'])
  children.push(child)
  await once(child.stdout, 'data')
  const { boot, space } = own
  return { child, mark: { boot, space, pid: child.pid!, start: lookUp(child.pid!)!.start } }
}

async function kill(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

describe.runIf(process.platform === 'linux')('of the processes of this machine', () => {
  test('one is alive until it ends, also while it is stopped', async () => {
    const { child, mark } = await waiting()
    expect(systemProcesses.livenessOf(mark)).toBe('alive')
    child.kill('SIGSTOP')
    expect(systemProcesses.livenessOf(mark)).toBe('alive')
    await kill(child)
    expect(systemProcesses.livenessOf(mark)).toBe('dead')
  })

  test('one whose id is that of a later process is dead', () => {
    const { boot, space, pid, start } = own
    const reused = { boot, space, pid, start: String(Number(start) - 1) }
    expect(systemProcesses.livenessOf(reused)).toBe('dead')
  })

  test('a zombie is dead', async () => {
    const parent = spawn('sh', ['-c', 'sleep 0.1 & echo $!; exec sleep 60'])
    children.push(parent)
    const [pid] = await once(parent.stdout, 'data')
    const { boot, space } = own
    const mark = { boot, space, pid: Number(pid), start: lookUp(Number(pid))!.start }
    await vi.waitFor(() => expect(systemProcesses.livenessOf(mark)).toBe('dead'))
    expect(lookUp(mark.pid)?.hasEnded).toBe(true)
    await kill(parent)
  })

  test.each([
    ['of another boot', { boot: 'another' }],
    ['in another namespace', { space: 'pid:[1] time:[1]' }],
  ])('nothing is known of one %s, alive or dead', async (_, over) => {
    const { child, mark } = await waiting()
    expect(systemProcesses.livenessOf({ ...mark, ...over })).toBe('unknown')
    await kill(child)
    expect(systemProcesses.livenessOf({ ...mark, ...over })).toBe('unknown')
  })

  test('a thread may have ended while its process is alive, and ends with it', async () => {
    const { child, mark } = await waiting()
    expect(systemProcesses.livenessOf({ ...mark, thread: true })).toBe('unknown')
    await kill(child)
    expect(systemProcesses.livenessOf({ ...mark, thread: true })).toBe('dead')
  })
})

test('a process mark is read back, and no other text is one', () => {
  const mark = { boot: 'b', space: 's', pid: 7, start: '8', thread: true }
  expect(parseMark(JSON.parse(JSON.stringify(mark)))).toEqual(mark)
  for (const other of [null, 7, {}, { ...mark, pid: -1 }, { ...mark, pid: '7' }, { ...mark, start: 8 }]) {
    expect(parseMark(other)).toBeNull()
  }
})
