/**
 * Processes that move money in one directory and are killed (SIGKILL) at any moment, again and again: what a process was told
 * stands in the log, nothing stands there twice, and the sum stays what it was, in every snapshot and at the end.
 * `SHEAF_CRASH_SECONDS` says for how long (default 6).
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import type { Entry } from '../../src/commit/machine.js'
import { decodeSlot } from '../../src/commit/slot.js'
import { TailedLog } from '../../src/commit/tailed-log.js'
import { formatTransactionId } from '../../src/commit/transaction-id.js'
import { connect, type Namespace } from '../../src/index.js'
import { systemClock } from '../../src/primitives/clock.js'
import { FileStore } from '../../src/storage/file-store.js'
import { shipped } from '../adapters/built.js'
import { randomFrom } from '../support/clock.js'
import { temporaryRoots } from '../support/roots.js'

const seconds = Number(process.env.SHEAF_CRASH_SECONDS ?? 6)
const random = randomFrom(Number(process.env.SHEAF_SEED ?? 1))
const accounts = 5
const writers = 4
const startBalance = 1000
const engine = pathToFileURL(shipped('index')).href
const program = fileURLToPath(new URL('bank-process.mjs', import.meta.url))
const freshRoot = temporaryRoots()

interface Transfer {
  readonly transfer: string
  readonly entries: readonly unknown[]
}

/** What processes said, until they were killed. */
class Testimony {
  /** Transfers by the transaction they were told. */
  readonly done = new Map<string, string>()
  readonly refused = new Set<string>()
  /** Bytes that came through the pipe but no whole line. */
  #rest = ''
  /** The one in flight. */
  sending: Transfer | null = null
  opened = false
  failure = ''

  hear(text: string): void {
    const lines = (this.#rest + text).split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#note(JSON.parse(line))
  }

  #note(said: { sending?: Transfer; done?: string; transaction?: string; refused?: string }): void {
    this.opened = true
    if (said.sending !== undefined) this.sending = said.sending
    else {
      if (said.done !== undefined) this.done.set(said.transaction!, said.done)
      if (said.refused !== undefined) this.refused.add(said.refused)
      this.sending = null
    }
  }
}

test(
  `${writers} processes killed at any moment lose nothing and do nothing twice`,
  async () => {
    const directory = freshRoot()
    const root = await connect(directory)
    await openAccounts(root)
    const until = Date.now() + seconds * 1000
    const testimonies: Testimony[] = []
    let snapshots = 0
    const watching = (async () => {
      for (; Date.now() < until; snapshots++) {
        const snapshot = await root.snapshot()
        expect(await sumOf(snapshot)).toBe(accounts * startBalance)
        await snapshot.close()
        await pause(20)
      }
    })()
    const writing = Array.from({ length: writers }, async (_, writer) => {
      let unknown: Transfer | null = null
      for (let life = 0; Date.now() < until; life++) {
        const testimony = await live(directory, `${writer}.${life}`, unknown)
        testimonies.push(testimony)
        if (testimony.opened) unknown = testimony.sending
      }
    })
    await Promise.all([watching, ...writing])

    const places = new Map<string, string>()
    for await (const { entry, transaction } of entriesOf(directory)) {
      const transfer = transferOf(entry)
      if (transfer === null) continue
      expect(places.has(transfer), `${transfer} was committed twice`).toBe(false)
      places.set(transfer, transaction)
    }
    let acknowledged = 0
    for (const { done, refused } of testimonies) {
      for (const [transaction, transfer] of done) {
        expect(places.get(transfer), `${transfer} was acknowledged`).toBe(transaction)
        acknowledged++
      }
      for (const transfer of refused) expect(places.has(transfer), `${transfer} was refused`).toBe(false)
    }
    const fresh = await connect(directory)
    expect(await sumOf(fresh)).toBe(accounts * startBalance)
    expect(await sumOf(root)).toBe(accounts * startBalance)
    await Promise.all([fresh.close(), root.close()])
    const kills = testimonies.length
    console.log(
      `${kills} kills, ${places.size} commits, ${acknowledged} acknowledged, ${snapshots} snapshots`,
    )
    expect(kills).toBeGreaterThan(2 * writers)
    expect(acknowledged).toBeGreaterThan(writers)
  },
  (seconds + 60) * 1000,
)

/** One life of a process: killed some time after it has opened the root, or now and then before. */
async function live(directory: string, name: string, unknown: Transfer | null): Promise<Testimony> {
  const given = unknown === null ? '' : JSON.stringify(unknown)
  const args = [program, engine, directory, name, String(accounts), given]
  const child: ChildProcess = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  const testimony = new Testimony()
  const ended = new Promise<void>(resolve => child.on('close', () => resolve()))
  child.stdout!.setEncoding('utf8').on('data', (text: string) => testimony.hear(text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    testimony.failure += text
  })
  const waitsForIt = random() < 0.8
  for (let waited = 0; waitsForIt && !testimony.opened && child.exitCode === null; waited += 5) {
    expect(waited, `process ${name} opens the root in time`).toBeLessThan(20_000)
    await pause(5)
  }
  await Promise.race([pause(1000 * random() ** 2), ended])
  child.kill('SIGKILL')
  await ended
  expect(testimony.failure).toBe('')
  return testimony
}

async function openAccounts({ operations }: Namespace): Promise<void> {
  await operations.createNamespace({ id: ['bank'] })
  const parts = Array.from({ length: accounts }, (_, account) => {
    const id = ['bank', `account-${account}`]
    const metadata = { balance: String(startBalance) }
    const version = { id, version: 1, manifest_path: 'elsewhere/1', metadata }
    return [{ declare_table: { id } }, { create_table_version: version }]
  })
  await operations.batchCommitTables({ operations: parts.flat() })
}

async function sumOf({ operations }: Namespace): Promise<number> {
  let sum = 0
  for (let account = 0; account < accounts; account++) {
    const { version } = await operations.describeTableVersion({ id: ['bank', `account-${account}`] })
    sum += Number(version.metadata!.balance)
  }
  return sum
}

async function* entriesOf(
  directory: string,
): AsyncGenerator<{ readonly entry: Entry; readonly transaction: string }> {
  const store = await FileStore.open(directory, { create: false, readOnly: true })
  const log = new TailedLog(store, { clock: systemClock, readOnly: true })
  await log.settle()
  const last = await log.last()
  for (let number = 1; number <= last; number++) {
    const { header } = decodeSlot((await log.read(number))!, number, catalogMachine.features)
    for (const entry of header.entries) {
      yield { entry, transaction: formatTransactionId(number, entry.txn) }
    }
  }
  log.close()
}

/** The transfer an entry is, whole: both accounts, and nothing else. */
function transferOf({ ops }: Entry): string | null {
  const versions = ops as unknown as readonly {
    readonly op: string
    readonly manifest?: { readonly meta: Readonly<Record<string, string>> }
  }[]
  const names = new Set(versions.map(({ manifest }) => manifest?.meta.transfer))
  const [name] = names
  if (name === undefined) return null
  expect([versions.length, names.size], `${name} is whole`).toEqual([2, 1])
  return name
}

test('a process with nothing else to do opens a root whose writer was killed', () => {
  const directory = freshRoot()
  const run = (text: string) =>
    spawnSync(process.execPath, ['--input-type=module', '-e', `import { connect } from '${engine}'; ${text}`])
  const ns = `const ns = await connect(${JSON.stringify(directory)}); `
  run(`${ns} const table = await ns.createTable('t', [{ id: 1, n: 0 }]); let n = 0
    setTimeout(() => process.kill(process.pid, 'SIGKILL'), 300); for (;;) await table.update({ n: n++ }, 'id = ?', [1])`)
  const { status, stdout } = run(
    `${ns} console.log(await (await ns.openTable('t')).countRows()); await ns.close()`,
  )
  expect([status, String(stdout)]).toEqual([0, '1\n'])
}, 60_000)
