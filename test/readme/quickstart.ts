import { connect, type RowOf, schema, sql } from 'sheaf'

const columns = schema({ id: 'int64!', name: 'string!', stock: 'int32!', tags: 'string![]' })
type Product = RowOf<typeof columns> // { id: number, name: string, stock: number, tags: readonly string[] | null }

const ns = await connect<{ products: Product }>('memory://')
const products = await ns.createTable('products', [], { schema: columns })
await products.add([
  { id: 1, name: 'Lamp', stock: 3, tags: ['light'] },
  { id: 2, name: 'Chair', stock: 5 },
])

const byId = products.prepare(query => query.where('id = ?').select(['name', 'stock']))
const lamp = await byId.first([1]) // { name: string, stock: number } | null

const page = await products.query().where('stock > ?', [0]).orderBy('name').limit(10).page({ total: true })
const names = page.rows.map(row => row.name)
console.log(lamp?.name, page.total, names) // Lamp 2 [ 'Chair', 'Lamp' ]

await ns.transaction(async tx => {
  await tx.table('products').update({ stock: sql`stock - 1` }, 'id = ?', [1])
  await tx.table('products').delete('stock = 0')
})
console.log((await byId.first([1]))?.stock) // 2
await ns.close()
