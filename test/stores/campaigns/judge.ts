/** The tables of a campaign, and the checks after it: nothing is lost, nothing is there twice, no transaction is torn. */
import { expect } from 'vitest'
import type { Namespace } from '../../../src/index.js'
import { type Callers, eventTables } from './callers.js'
import type { BankProcess } from './processes.js'

const accounts = 4
const startBalance = 1000

interface Account {
  readonly account: number
  readonly balance: number
}

/** Create the tables. `callers`: the number of callers, each of which moves a tag. */
export async function createTables(ns: Namespace, callers: number): Promise<void> {
  const start = Array.from({ length: accounts }, (_, account) => ({ account, balance: startBalance }))
  await ns.createTable('left', start)
  await ns.createTable('right', start)
  await ns.createTable('ledger', [{ id: 'none', from: 0, to: 0, amount: 0 }])
  for (const [i, name] of eventTables.entries()) {
    const table = await ns.createTable(name, [{ key: 'none' }])
    for (let caller = i; caller < callers; caller += eventTables.length) {
      await table.tags.create(`caller-${caller}`, 1)
    }
  }
}

const sum = (rows: readonly { readonly balance: number }[]) =>
  rows.reduce((all, { balance }) => all + balance, 0)

async function balances(from: Namespace, name: string): Promise<readonly Account[]> {
  const table = await from.openTable(name)
  return (await table.query().toArray()) as unknown as readonly Account[]
}

/** Check that a state has whole transactions only. */
export async function checkSum(from: Namespace): Promise<void> {
  const [left, right] = await Promise.all([balances(from, 'left'), balances(from, 'right')])
  expect(sum(left) + sum(right)).toBe(2 * accounts * startBalance)
}

/** Check the final state against everything that was acknowledged. */
export async function judge(ns: Namespace, callers: Callers, banks: readonly BankProcess[]): Promise<void> {
  for (const name of eventTables) {
    const table = await ns.openTable(name)
    const keys = (await table.query().select(['key']).toArray()).map(row => row.key as string)
    const present = new Set(keys)
    expect(keys.length - present.size, `rows that ${name} has twice`).toBe(0)
    const lost = callers.acknowledged.get(name)!.filter(key => !present.has(key))
    expect(lost, `acknowledged rows that ${name} has lost`).toEqual([])
    // Every append was repeated until it was acknowledged.
    expect(keys.length).toBe(callers.acknowledged.get(name)!.length + 1)
  }
  const ledger = (await (await ns.openTable('ledger')).query().toArray()).filter(({ id }) => id !== 'none')
  const transfers = ledger.map(({ id }) => id as string)
  const present = new Set(transfers)
  expect(transfers.length - present.size, 'transfers that are there twice').toBe(0)
  const done = banks.flatMap(bank => [...bank.done])
  expect(
    done.filter(id => !present.has(id)),
    'acknowledged transfers that are lost',
  ).toEqual([])
  const begun = new Set(banks.flatMap(bank => [...bank.begun]))
  expect(
    transfers.filter(id => !begun.has(id)),
    'transfers that nobody began',
  ).toEqual([])
  for (const [name, side, sign] of [
    ['left', 'from', -1],
    ['right', 'to', 1],
  ] as const) {
    for (const { account, balance } of await balances(ns, name)) {
      const moved = ledger
        .filter(row => row[side] === account)
        .reduce((all, row) => all + sign * (row.amount as number), 0)
      expect(balance, `account ${account} of ${name}`).toBe(startBalance + moved)
    }
  }
  expect((await ns.verify()).problems).toEqual([])
}
