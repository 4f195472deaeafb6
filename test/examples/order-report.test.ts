/** The example `examples/order-report`. The expected values are computed from the CSV file by plain code. */
import { readFileSync } from 'node:fs'
import { beforeEach, expect, test } from 'vitest'
import * as shop from '../../examples/order-report/orders.js'
import { connect, type Namespace, type Table } from '../../src/index.js'

const path = 'examples/order-report/orders.csv'

/** The orders of the file. Money is in cents. */
const [, ...lines] = readFileSync(path, 'utf8').trim().split('\n')
const expected = lines.map(line => {
  const [id, customer, , quantity, price, ordered] = line.split(',') as [
    string,
    string,
    string,
    string,
    string,
    string,
  ]
  return {
    id: Number(id),
    customer,
    month: ordered.slice(0, 7),
    cents: Number(quantity) * Math.round(Number(price) * 100),
  }
})

const euros = (cents: number) => (cents / 100).toFixed(2)
const sum = (numbers: readonly number[]) => numbers.reduce((a, b) => a + b, 0)

/** The value below which a share of the numbers is, interpolated between the two nearest. */
function percentile(numbers: readonly number[], share: number): number {
  const sorted = [...numbers].sort((a, b) => a - b)
  const place = share * (sorted.length - 1)
  const low = sorted[Math.floor(place)]!
  return low + (sorted[Math.ceil(place)]! - low) * (place % 1)
}

let ns: Namespace
let orders: shop.OrderTable
let stock: Table<shop.Article>

beforeEach(async () => {
  ns = await connect('memory://')
  orders = await shop.importOrders(ns, path)
  stock = await shop.createStock(ns, { bolt: 100, saw: 2 })
  return () => ns.close()
})

test('each month has its orders, customers, revenue, median and 90th percentile', async () => {
  const months = ['2026-01', '2026-02', '2026-03']
  const report = await shop.monthlyReport(orders)
  expect(report).toEqual(
    months.map(month => {
      const rows = expected.filter(order => order.month === month)
      const cents = rows.map(row => row.cents)
      return {
        month: new Date(month),
        orders: rows.length,
        customers: new Set(rows.map(({ customer }) => customer)).size,
        revenue: euros(sum(cents)),
        median: expect.closeTo(percentile(cents, 0.5) / 100, 9),
        percentile90: expect.closeTo(percentile(cents, 0.9) / 100, 9),
      }
    }),
  )
  expect(report[0]).toMatchObject({ orders: 3, customers: 2, revenue: '95.90', median: 5 })
})

test('the best customers since a date are those with more than one order', async () => {
  expect(await shop.bestCustomers(orders, new Date('2026-02-01'), 2)).toEqual([
    { customer: 'ben', orders: 2, revenue: '179.90' },
    { customer: 'dora', orders: 2, revenue: '77.50' },
  ])
  expect(await shop.bestCustomers(orders, new Date('2026-03-30'), 9)).toEqual([])
})

test('a discount is rounded to cents, can be compared with the version before, and undone', async () => {
  expect(await shop.giveDiscount(orders, 'ben', 5, 'before')).toBe(3)
  expect(await shop.priceChanges(orders, 'before')).toEqual([
    { id: 2, before: '0.25', after: '0.24' },
    { id: 5, before: '84.95', after: '80.70' },
    { id: 10, before: '0.50', after: '0.48' },
  ])
  const total = sum(expected.map(({ cents }) => cents))
  expect(await shop.revenueOf(orders, 'before')).toBe(euros(total))
  expect(await shop.revenueOf(orders)).toBe(euros(total - 4 * 1 - 2 * 425 - 20 * 2))
  await shop.undo(orders, 'before')
  expect(await shop.revenueOf(orders)).toBe(euros(total))
  expect([...(await orders.tags.list()).keys()]).toEqual([])
})

test('an order takes its pieces from the stock, or nothing changes', async () => {
  const order = { id: 11n, customer: 'eve', sku: 'saw', quantity: 2, price: '24.00', ordered: new Date(0) }
  await shop.placeOrder(ns, order)
  expect(await orders.get(11)).toEqual({ ...order, id: 11 })
  expect(await stock.get('saw', { on: 'sku' })).toEqual({ sku: 'saw', quantity: 0 })
  const version = await orders.version()
  await expect(shop.placeOrder(ns, { ...order, id: 12 })).rejects.toThrow('there are not 2 pieces of saw')
  expect(await orders.version()).toBe(version)
})

test('of ten orders at the same time, as many succeed as the stock allows', async () => {
  const order = { customer: 'eve', sku: 'bolt', quantity: 30, price: '0.50', ordered: new Date(0) }
  const placed = await Promise.allSettled(
    Array.from({ length: 10 }, (_, i) => shop.placeOrder(ns, { ...order, id: 100 + i })),
  )
  expect(placed.filter(({ status }) => status === 'fulfilled')).toHaveLength(3)
  expect(await stock.get('bolt', { on: 'sku' })).toEqual({ sku: 'bolt', quantity: 10 })
  expect(await orders.countRows('id >= 100')).toBe(3)
})
