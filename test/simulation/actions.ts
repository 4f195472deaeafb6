/** What a caller does to get what it wants: one call or several, each on what the last one showed. */

import { manifestOf } from '../support/lance.js'
import {
  type Answer,
  finalKey,
  type NewVersion,
  type Op,
  type Part,
  type Path,
  type Row,
  type RowPart,
  send,
  stagedKey,
} from './calls.js'
import { type Action, namespaces, tables, tags } from './draw.js'
import {
  accountsOf,
  type Call,
  type CallChoices,
  type Host,
  startBalance,
  Violation,
  type World,
} from './world.js'

/** Tries of one transfer. */
const tries = 3

/** Carries out `action`; `name` is its own among all actions of the world. */
export async function act(world: World, host: Host, name: string, action: Action): Promise<void> {
  const { kind, pick, keyed, abortMs } = action
  const of = <T>(list: readonly T[], digit: number): T => list[Math.floor(pick / 7 ** digit) % list.length]!
  const table = of(tables, 0)
  const namespace = of(namespaces, 0)
  const choices = { key: keyed ? name : undefined, abortMs }
  const call = (op: Op) => insist(world, host, op, choices)
  switch (kind) {
    case 'transfer':
      return transfer(world, host, name, action)
    case 'audit':
      return auditBank(world, host)
    case 'look': {
      const looks: readonly Op[] = [
        { kind: 'listNamespaces', id: of([[], ...namespaces], 1) },
        { kind: 'listTables', id: of([[], ...namespaces], 1) },
        { kind: 'describe', id: table },
        { kind: 'listVersions', id: of([table, ...accountsOf(world.plan)], 1) },
        { kind: 'listTags', id: table },
      ]
      await host.call(of(looks, 2))
      return
    }
    case 'query': {
      await host.call({ kind: 'query', id: table })
      await host.call({ kind: 'query', id: table, version: of([1, 2], 1) })
      return
    }
    case 'createNamespace':
      await call({ kind: 'createNamespace', id: namespace, mode: of(['Create', 'ExistOk', 'Overwrite'], 1) })
      return
    case 'dropNamespace': {
      const [mode, behavior] = [of(['Fail', 'Skip'] as const, 1), of(['Restrict', 'Cascade'] as const, 2)]
      await call({ kind: 'dropNamespace', id: namespace, mode, behavior })
      return
    }
    case 'createTable': {
      const mode = of(['Create', 'Create', 'ExistOk', 'Overwrite'] as const, 1)
      await call({ kind: 'createTable', id: table, mode, rows: rowsOf(pick, name) })
      return
    }
    case 'insert': {
      const mode = of(['Append', 'Append', 'Overwrite'] as const, 1)
      await call({ kind: 'insert', id: table, mode, rows: rowsOf(pick, name) })
      return
    }
    case 'delete': {
      const from = of([0, 2, 5], 1)
      await call({ kind: 'delete', id: table, from, to: from + of([1, 3, 10], 2) })
      return
    }
    case 'update': {
      const from = of([0, 2, 5, 100], 1)
      await call({ kind: 'update', id: table, from, to: from + of([1, 3, 10], 2), by: of(['+', '-'], 3) })
      return
    }
    case 'upsert':
      await call({ kind: 'upsert', id: table, rows: rowsOf(pick - (pick % 77) + of([8, 9, 10], 4), name) })
      return
    case 'transaction': {
      const [other, from] = [of(tables, 1), of([0, 2, 5, 100], 2)]
      const parts: readonly RowPart[] = [
        { kind: 'update', id: table, from, to: from + 3, by: '*' },
        { kind: 'upsert', id: other, rows: [{ id: from, who: name }] },
        { kind: 'delete', id: other, from: from + 100, to: from + 102 },
        { kind: 'update', id: table, from: from + 100, to: from + 101, by: '/' },
      ]
      const begin = of([0, 0, 1, 2], 3)
      // A transaction has no key of its own.
      await insist(world, host, { kind: 'transaction', parts: parts.slice(begin) }, { abortMs })
      return
    }
    case 'dropTable':
      await call({ kind: 'dropTable', id: table })
      return
    case 'declare':
      await call({ kind: 'declare', id: table })
      return
    case 'rename':
      await call({ kind: 'rename', id: table, to: of(tables, 1) })
      return
    case 'move': {
      const described = await host.call({ kind: 'describe', id: table })
      await call({ kind: 'deregister', id: table })
      const answer = answerOf(described)
      if (answer === null) return
      const register: Op = { kind: 'register', id: of(tables, 1), location: `tables/${String(answer.uuid)}` }
      await insist(world, host, register, { key: keyed ? `${name}-back` : undefined })
      return
    }
    case 'restore':
      await call({ kind: 'restore', id: table, version: of([1, 1, 2], 1) })
      return
    case 'tag': {
      const [tag, version] = [of(tags, 1), of([1, 2], 2)]
      const kinds = ['createTag', 'updateTag', 'deleteTag'] as const
      const which = of(kinds, 3)
      await call(
        which === 'deleteTag' ? { kind: which, id: table, tag } : { kind: which, id: table, tag, version },
      )
      return
    }
    case 'point':
      await call({ kind: 'createVersion', id: table, version: of([1, 2, 5], 1), balance: 0 })
      return
    case 'lance':
      return commitManifest(world, host, table, choices)
    case 'beside':
      return commitBeside(world, host, table)
    case 'expire':
      await call({ kind: 'deleteVersions', id: table, from: of([0, 1, 2], 1), to: of([-1, 3, 5], 2) })
      return
    case 'batch': {
      const [id, other] = [table, of(tables, 1)]
      const version = (v: number): NewVersion => ({ kind: 'createVersion', id, version: v, balance: 0 })
      const batches: readonly (readonly Part[])[] = [
        [{ kind: 'declare', id }, version(1)],
        [version(1), version(2), { kind: 'deleteVersions', id, from: 0, to: 2 }],
        [
          { kind: 'deregister', id },
          { kind: 'declare', id },
        ],
        [
          { kind: 'declare', id },
          { kind: 'declare', id: other },
        ],
        [version(1), { kind: 'deregister', id: other }],
      ]
      await call({ kind: 'batchCommit', parts: of(batches, 2) })
      return
    }
    case 'maintenance':
      return host.tidy()
    case 'index':
      return host.buildIndex(table, of(['id', 'who'], 1))
    case 'note': {
      const named = world.calls.flatMap(({ outcome }) => {
        return outcome.kind === 'done' && outcome.transaction !== undefined ? [outcome.transaction] : []
      })
      if (named.length === 0) return
      const transaction = of(named, 1)
      await call({ kind: 'note', transaction, value: name })
      await host.call({ kind: 'describeTransaction', transaction })
    }
  }
}

/** Sends a keyed call again for as long as its outcome is not known. */
async function insist(world: World, host: Host, op: Op, choices: CallChoices): Promise<Call> {
  for (;;) {
    const call = await host.call(op, choices)
    const { kind } = call.outcome
    if (choices.key === undefined || (kind !== 'unknown' && kind !== 'failed')) return call
    await world.time.sleep(1000)
  }
}

/** What a Lance engine does: it stages a manifest for the next version, and sends it until it is told what became of it. */
async function commitManifest(world: World, host: Host, id: Path, choices: CallChoices): Promise<void> {
  const described = answerOf(await host.call({ kind: 'describe', id }))
  if (described === null) return
  const version = Number(described.version ?? 0) + 1
  const staging = world.uuid()
  const op = { kind: 'commitManifest' as const, id, uuid: String(described.uuid), version, staging }
  await world.disk.put(stagedKey(op), manifestOf(staging))
  for (;;) {
    const { outcome } = await host.call(op, choices)
    if (outcome.kind === 'done' || outcome.kind === 'refused' || outcome.kind === 'aborted') return
    await world.time.sleep(1000)
  }
}

/** What a Lance engine does that does not ask: it looks for the newest version, and writes the manifest of the next one itself. */
async function commitBeside(world: World, host: Host, id: Path): Promise<void> {
  const described = answerOf(await host.call({ kind: 'describe', id }))
  const listed = answerOf(await host.call({ kind: 'listVersions', id }))
  if (described === null || listed === null) return
  const uuid = String(described.uuid)
  const known = Number(described.version ?? 0)
  // It leaves tables alone that are not its own: those with rows, and those that point elsewhere.
  if (described.hasRows === true || newestOf(id, listed)?.balance != null) return
  for (let version = known + 1; version <= known + 2; version++) {
    await world.time.sleep(20 * world.time.random())
    const content = `beside ${world.uuid()}`
    const outcome = await world.disk.putIfAbsent(finalKey(uuid, version), manifestOf(content))
    if (outcome === 'won') world.noteBeside({ uuid, version, content })
  }
}

/** Moves money from one account to another, if nobody touches them meanwhile. */
async function transfer(world: World, host: Host, name: string, { pick, keyed }: Action): Promise<void> {
  const { padding } = world.plan
  const accounts = accountsOf(world.plan)
  const from = accounts[pick % accounts.length]!
  const to = accounts[(pick + 1) % accounts.length]!
  const amount = 1 + (pick % 50)
  for (let attempt = 0; attempt < tries; attempt++) {
    const before: Account[] = []
    for (const id of from === to ? [from] : [from, to]) {
      const account = await readAccount(host, id)
      if (account === null) return
      before.push(account)
    }
    const parts = before.map(({ id, version, balance }, i): NewVersion => {
      const change = before.length === 1 ? 0 : i === 0 ? -amount : amount
      return { kind: 'createVersion', id, version: version + 1, balance: balance + change, padding }
    })
    const op: Op = pick % 3 === 0 ? { kind: 'batchCreate', parts } : { kind: 'batchCommit', parts }
    const { outcome } = await insist(world, host, op, { key: keyed ? `${name}-${attempt}` : undefined })
    if (outcome.kind === 'done' || outcome.kind === 'unknown') return
  }
}

interface Account {
  readonly id: Path
  readonly version: number
  readonly balance: number
}

async function readAccount(host: Host, id: Path): Promise<Account | null> {
  const answer = answerOf(await host.call({ kind: 'listVersions', id }))
  return answer === null ? null : newestOf(id, answer)
}

function newestOf(id: Path, { versions }: Answer): Account | null {
  const newest = (versions as readonly (readonly [number, number, number])[]).at(-1)
  return newest === undefined ? null : { id, version: newest[0], balance: newest[2] }
}

/** At one moment the accounts hold what they held at the start. */
async function auditBank(world: World, host: Host): Promise<void> {
  const snapshot = await host.snapshot()
  if (snapshot === null) return
  let sum = 0
  try {
    for (const id of accountsOf(world.plan)) {
      const sent = await host.race(send(snapshot, { kind: 'listVersions', id }, {}))
      if (sent === null) return
      sum += newestOf(id, sent.answer)!.balance
    }
  } finally {
    await host.race(snapshot.close())
  }
  if (sum !== startBalance * world.plan.accounts)
    throw new Violation(`the accounts hold ${sum} in a snapshot`)
}

function answerOf({ outcome }: Call): Answer | null {
  return outcome.kind === 'done' ? outcome.answer : null
}

/** Two rows; large ones in one of eight. */
function rowsOf(pick: number, name: string): readonly Row[] {
  const who = pick % 8 === 0 ? name.padEnd(70_000, '.') : name
  return [
    { id: pick % 7, who },
    { id: pick % 11, who: name },
  ]
}
