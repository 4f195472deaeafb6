/** Shows `orders.ts` at work. Run `npm run build`, then `node dist/examples/order-report/main.js`. */
import { connect } from 'sheaf'
import * as shop from './orders.js'

const ns = await connect('memory://')
const orders = await shop.importOrders(ns, 'examples/order-report/orders.csv')
const stock = await shop.createStock(ns, { bolt: 100, saw: 2 })

console.log('months:', await shop.monthlyReport(orders))
console.log('best customers:', await shop.bestCustomers(orders, new Date('2026-02-01'), 3))

const order = {
  id: 11,
  customer: 'anna',
  sku: 'saw',
  quantity: 2,
  price: '24.00',
  ordered: new Date('2026-03-31'),
}
await shop.placeOrder(ns, order)
await shop.placeOrder(ns, { ...order, id: 12 }).catch(error => console.log('refused:', error.message))
console.log('stock:', await stock.query().toArray())

console.log('orders with a discount:', await shop.giveDiscount(orders, 'ben', 5, 'before-discount'))
console.log('prices:', await shop.priceChanges(orders, 'before-discount'))
console.log('revenue:', await shop.revenueOf(orders, 'before-discount'), '->', await shop.revenueOf(orders))
await shop.undo(orders, 'before-discount')
console.log('revenue after the undo:', await shop.revenueOf(orders))
await ns.close()
