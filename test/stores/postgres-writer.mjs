/**
 * A process that appends rows with keys of its own. Repeats each append with the same idempotency key until it is
 * acknowledged. Prints a line for each acknowledged row.
 */
import pg from 'pg'

const importBuilt = name => import(new URL(`../../dist/lib/${name}.js`, import.meta.url).href)
const { connect } = await importBuilt('index')
const { openPostgresLog } = await importBuilt('postgres')

const [path, config, writer, rows] = process.argv.slice(2)
const pool = new pg.Pool({ ...JSON.parse(config), max: 3 })
pool.on('error', () => {})

async function untilDone(work) {
  for (const end = Date.now() + 120_000; ; ) {
    try {
      return await work()
    } catch (error) {
      if (error.name !== 'ServiceUnavailable' || Date.now() > end) throw error
    }
    await new Promise(resolve => setTimeout(resolve, 100 * Math.random()))
  }
}

const ns = await untilDone(async () => connect(path, { log: await openPostgresLog({ pool }) }))
const table = await untilDone(() => ns.openTable('t'))
for (let i = 0; i < Number(rows); i++) {
  const key = `${writer}-${i}`
  await untilDone(() => table.add([{ key }], { idempotencyKey: key }))
  process.stdout.write(`${key}\n`)
}
await ns.close()
await pool.end()
