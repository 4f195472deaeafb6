import fc from 'fast-check'
import { expect, test } from 'vitest'
import { catalogMachine } from '../../src/catalog/apply.js'
import { queuedBuild } from '../../src/catalog/index-builds.js'
import { decideCreateNamespace, decideDropNamespace } from '../../src/catalog/namespaces.js'
import type { CatalogOp } from '../../src/catalog/ops.js'
import type { CatalogState } from '../../src/catalog/state.js'
import {
  decideDeclareTable,
  decideDropTable,
  decideRegisterTable,
  decideRenameTable,
} from '../../src/catalog/tables.js'
import { decideCreateTag } from '../../src/catalog/tags.js'
import { formatTransactionId } from '../../src/commit/transaction-id.js'
import { SheafError } from '../../src/errors.js'
import { commit, emptyCatalog, emptyChange } from '../support/catalog.js'

const genesis = { root: 'root', format: 1 } as const

function reload(state: CatalogState): CatalogState {
  const loader = catalogMachine.load(genesis)
  for (const text of catalogMachine.save(state)) loader.add(text)
  return loader.end()
}

const name = fc.constantFrom('a', 'b', 'c')
const namespace = fc.array(name, { maxLength: 2 })
const table = fc.tuple(namespace, name).map(([path, last]) => [...path, last])

/** What to try next, given what is there. */
type Step = (state: CatalogState, slot: number) => readonly CatalogOp[]

const steps: fc.Arbitrary<Step> = fc.oneof(
  namespace.map(
    (id): Step =>
      state =>
        decideCreateNamespace(state, id, 'Create', { p: id.join() }),
  ),
  namespace.map(
    (id): Step =>
      state =>
        decideDropNamespace(state, id, 'Fail', 'Cascade'),
  ),
  table.map(
    (id): Step =>
      (state, slot) => [decideDeclareTable(state, id, `u${slot}`, { at: String(slot) })],
  ),
  table.map(
    (id): Step =>
      (state, slot) => [decideDeclareTable(state, id, `u${slot}`, {}, `mine/u${slot}`)],
  ),
  fc.tuple(fc.nat(9), table).map(
    ([pick, id]): Step =>
      state => {
        const head = nth([...state.tables], pick)
        return head === undefined ? [] : decideRenameTable(state, head, id.at(-1)!, id.slice(0, -1))
      },
  ),
  fc.nat(9).map(
    (pick): Step =>
      state =>
        onTable(state, pick, head => [decideDropTable(head)]),
  ),
  fc.nat(9).map(
    (pick): Step =>
      state =>
        onTable(state, pick, head => [{ op: 'deregister', t: head.uuid }]),
  ),
  fc.tuple(fc.nat(9), table).map(
    ([pick, id]): Step =>
      state => {
        const head = nth([...state.detached], pick)
        const nothing = { scheme: 'V2', versions: [] } as const
        return head === undefined
          ? []
          : decideRegisterTable(
              state,
              { id, uuid: 'x', location: head.location, props: {}, found: nothing },
              'Create',
            )
      },
  ),
  fc.nat(9).map(
    (pick): Step =>
      state =>
        onTable(state, pick, ({ uuid, mark, start }) => [emptyChange(uuid, mark + 1, { start })]),
  ),
  fc.nat(9).map(
    (pick): Step =>
      (state, slot) =>
        onTable(state, pick, head => [decideCreateTag(head, `t${slot}`, 1)]),
  ),
  fc.constant((): CatalogOp[] => [{ op: 'job', state: 'Queued', kind: 'k', spec: { a: 1 } }]),
  fc.tuple(fc.nat(9), name).map(
    ([pick, index]): Step =>
      (state, slot) =>
        onTable(state, pick, ({ uuid }) => {
          const id = formatTransactionId(slot, `txn-${slot}`)
          const spec = { name: index, uuid: 'i', kind: 'BTREE', field: 0, ts: 1 } as const
          return [queuedBuild(spec, uuid), { op: 'job', state: 'Failed', id, reason: `at ${slot}` }]
        }),
  ),
  fc.tuple(fc.nat(9), name).map(
    ([pick, index]): Step =>
      state =>
        onTable(state, pick, ({ uuid, mark, start }) => [
          emptyChange(uuid, mark + 1, { start, kind: 'index', indexes: [{ drop: index }] }),
        ]),
  ),
  fc.constant((state: CatalogState): CatalogOp[] => {
    const [id] = [...state.jobs.keys()]
    return id === undefined ? [] : [{ op: 'job', state: 'Canceled', id, reason: 'no' }]
  }),
)

/** Steps about things that a state keeps for a while, or in an order. */
const longSteps: fc.Arbitrary<Step> = fc.oneof(
  fc.nat(9).map(
    (pick): Step =>
      (state, slot) =>
        onTable(state, pick, ({ uuid }) => [
          { op: 'upload', t: uuid, mode: 'append', schema: { id: slot, fields: [], metadata: {} } },
        ]),
  ),
  fc.tuple(fc.nat(9), name).map(
    ([pick, part]): Step =>
      (state, slot) => {
        const id = nth([...state.uploads], pick)?.id
        const files = [{ rows: slot, file: `${slot}`, bytes: 1, crc: 2 }]
        return id === undefined ? [] : [{ op: 'part', u: id, part, mode: 'append', files }]
      },
  ),
  fc.nat(9).map(
    (pick): Step =>
      state => {
        const id = nth([...state.uploads], pick)?.id
        return id === undefined ? [] : [{ op: 'uploaded', u: id, res: null }]
      },
  ),
  fc.tuple(fc.nat(9), name).map(
    ([pick, value]): Step =>
      (state, slot) => {
        const id = [...state.notes].map(([note]) => note)[pick] ?? formatTransactionId(slot, 'other')
        return [{ op: 'txn', id, set: { value }, unset: [] }]
      },
  ),
  fc.nat(9).map(
    (pick): Step =>
      state =>
        onTable(state, pick, ({ uuid, live }) =>
          live.length === 0 ? [] : [{ op: 'expire', t: uuid, runs: [[live[0]![0], live[0]![0]]] }],
        ),
  ),
  fc.integer({ min: 1, max: 20 }).map(
    (age): Step =>
      (state, slot) =>
        slot - age > state.sweep.floor ? [{ op: 'sweep', floor: slot - age }] : [],
  ),
  fc.nat(9).map(
    (pick): Step =>
      state => {
        const dropped = nth([...state.drops], pick)
        const [location] = [...state.drops][pick % Math.max(1, state.drops.size)] ?? []
        return dropped === undefined ? [] : [{ op: 'dropped', location: location! }]
      },
  ),
  fc.constant((state: CatalogState, slot: number): CatalogOp[] => {
    const last = state.checkpoints.at(-1)
    const of = slot - 1
    if (of < 1 || (last !== undefined && of < last.at)) return []
    return [{ op: 'checkpoint', name: `${2n ** 64n - 1n - BigInt(of)}-00000000.json` }]
  }),
)

function nth<T>(items: readonly (readonly [string, T])[], n: number): T | undefined {
  return items[n % Math.max(1, items.length)]?.[1]
}

type Head = Parameters<typeof decideDropTable>[0]

function onTable(state: CatalogState, pick: number, act: (head: Head) => readonly CatalogOp[]) {
  const head = nth([...state.tables], pick)
  return head === undefined ? [] : act(head)
}

test('a state that was saved and loaded is the same state, and goes on the same way', () => {
  fc.assert(
    fc.property(fc.array(steps, { maxLength: 40 }), fc.nat(40), (history, when) => {
      let state = emptyCatalog
      let twin = emptyCatalog
      for (const [slot, step] of history.entries()) {
        if (slot === when) twin = reload(state)
        try {
          const ops = step(state, slot)
          if (ops.length === 0) continue
          state = commit(state, slot, ...ops)
          twin = commit(twin, slot, ...ops)
        } catch (error) {
          if (!(error instanceof SheafError) || error.message.startsWith('invariant')) throw error
        }
      }
      expect([...catalogMachine.save(reload(state))]).toEqual([...catalogMachine.save(state)])
      expect([...catalogMachine.save(twin)]).toEqual([...catalogMachine.save(state)])
      expect(reload(state)).toEqual(state)
    }),
    { numRuns: 500 },
  )
})

test('the changes after a slot and the state of that slot give the newest state, in any parts', () => {
  const slots = fc.uniqueArray(fc.nat(59), { minLength: 2, maxLength: 6 })
  fc.assert(
    fc.property(
      fc.array(fc.oneof(steps, longSteps), { minLength: 2, maxLength: 60 }),
      slots,
      fc.array(fc.nat(99), { minLength: 60, maxLength: 60 }),
      (history, marks, numbers) => {
        const states = [emptyCatalog]
        for (const [i, step] of history.entries()) {
          states.push(after(states.at(-1)!, i + 1, step, numbers[i]!))
        }
        const bounds = [...marks].filter(mark => mark < states.length).sort((a, b) => a - b)
        let loaded: { readonly slot: number; readonly state: CatalogState } | undefined
        const known: (typeof loaded)[] = []
        for (const slot of bounds) {
          // Written by the process that applied everything.
          const before = loaded && { slot: loaded.slot, state: states[loaded.slot]! }
          loaded = { slot, state: withPart(loaded?.state, catalogMachine.save(states[slot]!, before)) }
          expect([...catalogMachine.save(loaded.state)]).toEqual([...catalogMachine.save(states[slot]!)])
          expect(loaded.state).toEqual(states[slot])
          known.push(loaded)
        }
        if (loaded === undefined) return
        // A process that opened the root from these parts goes on, and writes changes since any of them.
        let own = loaded.state
        for (let i = loaded.slot; i < history.length; i++) own = after(own, i + 1, history[i]!, numbers[i]!)
        expect([...catalogMachine.save(own)]).toEqual([...catalogMachine.save(states.at(-1)!)])
        for (const earlier of known) {
          const again = withPart(states[earlier!.slot], catalogMachine.save(own, earlier))
          expect([...catalogMachine.save(again)]).toEqual([...catalogMachine.save(own)])
        }
      },
    ),
    { numRuns: 400 },
  )
})

function withPart(before: CatalogState | undefined, texts: Iterable<string>): CatalogState {
  const loader = catalogMachine.load(genesis, before)
  for (const text of texts) loader.add(text)
  return loader.end()
}

/** The state after a step; the same state if the step is refused. Some steps have an idempotency key. */
function after(state: CatalogState, slot: number, step: Step, number: number): CatalogState {
  try {
    const ops = step(state, slot)
    if (ops.length === 0) return state
    const key = number % 3 === 0 ? { key: `k${number % 7}`, hash: `h${slot}` } : {}
    return catalogMachine.apply(
      state,
      { txn: `txn-${slot}`, req: [], ops, ...key },
      { slot, entry: 0, ts: 1000 + slot },
    )
  } catch (error) {
    if (!(error instanceof SheafError) || error.message.startsWith('invariant')) throw error
    return state
  }
}

test('the changes of many things can be written with pauses, also while none of them is an item', () => {
  const tables = Array.from({ length: 3000 }, (_, i) => `u${i}`)
  const before = tables.reduce(
    (state, uuid, slot) => commit(state, slot, decideDeclareTable(state, [uuid], uuid, {})),
    emptyCatalog,
  )
  const after = tables.reduce(
    (state, uuid, i) => commit(state, 3000 + i, { op: 'props', t: uuid, set: { a: 'b' } }),
    before,
  )
  const texts = [...catalogMachine.save(after, { slot: 2999, state: before })]
  expect(texts.indexOf('')).toBe(0)
  expect(texts.filter(text => text === '').length).toBeGreaterThan(10)
  expect(texts.filter(text => text !== '')).toHaveLength(3000)
})

test('keys that a window dropped are dropped again', () => {
  const day = 24 * 60 * 60 * 1000
  const withKeys = (state: CatalogState, first: number, count: number, ts: number) => {
    let { keys } = state
    for (let i = first; i < first + count; i++) keys = keys.set(`k${i}`, { hash: 'h', slot: i, entry: 0 }, ts)
    return { ...state, keys }
  }
  const states = [withKeys(emptyCatalog, 0, 9000, 0)]
  states.push(withKeys(states.at(-1)!, 9000, 1500, 1))
  states.push(withKeys(states.at(-1)!, 11_000, 3000, 2 * day))
  states.push(withKeys(states.at(-1)!, 100, 11_000, 4 * day))
  expect(states.map(({ keys }) => keys.size)).toEqual([9000, 10_500, 10_000, 11_000])
  for (const [to, state] of states.entries()) {
    for (let since = 0; since < to; since++) {
      const texts = catalogMachine.save(state, { slot: since, state: states[since]! })
      expect([...withPart(states[since], texts).keys]).toEqual([...state.keys])
    }
  }
})

test('keys and their age survive', () => {
  const at = (slot: number) => ({ slot, entry: 0, ts: slot })
  let state = emptyCatalog
  for (let slot = 1; slot < 20; slot++) {
    const ops: CatalogOp[] = [{ op: 'namespace', id: [`n${slot}`], props: {} }]
    state = catalogMachine.apply(state, { txn: 't', key: `k${slot}`, hash: 'h', req: [], ops }, at(slot))
  }
  expect([...reload(state).keys]).toEqual([...state.keys])
})

test('hints about heads of index segments are no part of the state', () => {
  const loader = catalogMachine.load(genesis)
  loader.add('{"heads":"u","files":[["indexes/0-a.arrow",100,20]]}')
  expect(loader.end()).toEqual(emptyCatalog)
})

test('a state of a newer build, or a text that is cut, is refused', () => {
  const loader = catalogMachine.load(genesis)
  expect(() => loader.add('{"branch":1}')).toThrow(expect.objectContaining({ code: 18 }))
})
