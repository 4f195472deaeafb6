/** Orders from a CSV file, reports in SQL, and changes that can be undone. */
import { type Namespace, type RowInput, type RowOf, schema, sql, type Table } from 'sheaf'
import { readCsv } from 'sheaf/files'

const orderSchema = schema({
  id: 'int64!',
  customer: 'string!',
  sku: 'string!',
  quantity: 'int64!',
  price: 'decimal(10, 2)!',
  ordered: 'timestamp!',
})
const stockSchema = schema({ sku: 'string!', quantity: 'int64!' })

/** An order. Decimals, such as the price of one piece, are read as texts: no digit is lost. */
export type Order = RowOf<typeof orderSchema>
export type Article = RowOf<typeof stockSchema>
export type OrderTable = Table<Order>

/** Create the table of orders from a CSV file. */
export async function importOrders(ns: Namespace, path: string): Promise<OrderTable> {
  return ns.createTable('orders', readCsv(path, { schema: orderSchema }), { schema: orderSchema })
}

/** Create the table of stock from the number of pieces of each article. */
export async function createStock(
  ns: Namespace,
  pieces: Readonly<Record<string, number>>,
): Promise<Table<Article>> {
  const rows = Object.entries(pieces).map(([sku, quantity]) => ({ sku, quantity }))
  return ns.createTable('stock', rows, { schema: stockSchema })
}

/** Report the orders of each month: their number, the revenue, and how large orders are. */
export async function monthlyReport(orders: OrderTable) {
  return orders
    .query()
    .groupBy("date_trunc('month', ordered)")
    .select({
      month: "date_trunc('month', ordered)",
      orders: 'count(*)',
      customers: 'count(DISTINCT customer)',
      revenue: sql<string>`sum(quantity * price)`,
      median: 'median(quantity * price)',
      percentile90: 'percentile(quantity * price, 0.9)',
    })
    .orderBy('month')
    .toArray()
}

/** Report the customers with the highest revenue since a date, if they ordered more than once. */
export async function bestCustomers(orders: OrderTable, since: Date, limit: number) {
  return orders
    .query()
    .where('ordered >= ?', [since])
    .groupBy('customer')
    .select({ customer: 'customer', orders: 'count(*)', revenue: sql<string>`sum(quantity * price)` })
    .having('orders > 1')
    .orderBy('revenue desc')
    .limit(limit)
    .toArray()
}

/**
 * Lower the prices of all orders of a customer. The tag names the version before the change, for `undo`. Returns the
 * number of changed orders.
 */
export async function giveDiscount(orders: OrderTable, customer: string, percent: number, tag: string) {
  await orders.tags.create(tag, await orders.version())
  const price = sql`round(price * ${100 - percent} / 100, 2)`
  const { rows } = await orders.update({ price }, 'customer = ?', [customer])
  return rows
}

/** Bring back the orders of the version that the tag names, as a new version. */
export async function undo(orders: OrderTable, tag: string): Promise<void> {
  await orders.restore(tag)
  await orders.tags.delete(tag)
}

/** Return the price of each order before and after the changes since the version that the tag names. */
export async function priceChanges(orders: OrderTable, tag: string) {
  const rows = await orders.diff(tag).changed.toArray()
  return rows.map(({ before, after }) => ({ id: after.id, before: before.price, after: after.price }))
}

/** Return the revenue of all orders; with a tag, in the version that the tag names. */
export async function revenueOf(orders: OrderTable, tag?: string): Promise<string> {
  const version = tag === undefined ? orders : await orders.checkout(tag)
  const total = await version.query().select({ revenue: sql<string | null>`sum(quantity * price)` }).first()
  return total?.revenue ?? '0.00'
}

/** Store an order, and take its pieces from the stock. If the stock is too small, neither of both happens. */
export async function placeOrder(ns: Namespace, order: RowInput<Order>): Promise<void> {
  const { sku, quantity } = order
  await ns.transaction(async tx => {
    const stock = tx.table<Article>('stock')
    const left = sql`quantity - ${quantity}`
    const { rows } = await stock.update({ quantity: left }, 'sku = ? AND quantity >= ?', [sku, quantity])
    if (rows === 0) throw new Error(`there are not ${quantity} pieces of ${sku}`)
    await tx.table<Order>('orders').add([order])
  })
}
