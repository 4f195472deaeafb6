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

test('keys and their age survive', () => {
  const at = (slot: number) => ({ slot, entry: 0, ts: slot })
  let state = emptyCatalog
  for (let slot = 1; slot < 20; slot++) {
    const ops: CatalogOp[] = [{ op: 'namespace', id: [`n${slot}`], props: {} }]
    state = catalogMachine.apply(state, { txn: 't', key: `k${slot}`, hash: 'h', req: [], ops }, at(slot))
  }
  expect([...reload(state).keys]).toEqual([...state.keys])
})

test('a state of a newer build, or a text that is cut, is refused', () => {
  const loader = catalogMachine.load(genesis)
  expect(() => loader.add('{"branch":1}')).toThrow(expect.objectContaining({ code: 18 }))
})
