/**
 * A process that moves money between two tables of a root, in transactions over three tables, until it is killed. Prints a
 * line when it begins a transfer, and a line when the transfer is acknowledged. A transfer whose outcome is unknown is not
 * repeated. argv: the name of the process, and a JSON object with `path`, `storage`, and the configuration `postgres` of a
 * log in PostgreSQL, if there is one.
 */
import { writeSync } from 'node:fs'
import pg from 'pg'

const importBuilt = name => import(new URL(`../../../dist/lib/${name}.js`, import.meta.url).href)
const { connect } = await importBuilt('index')

const [name, text] = process.argv.slice(2)
const { path, storage, postgres } = JSON.parse(text)
const say = (...words) => writeSync(1, `${words.join(' ')}\n`)
const pause = ms => new Promise(resolve => setTimeout(resolve, ms * (0.5 + Math.random())))

const ns = await open()
say('opened')
await Promise.all([transfers('a'), transfers('b')])

async function open() {
  for (;;) {
    try {
      return await connect(path, { storage, log: await openLog(), create: false })
    } catch (error) {
      if (error.name !== 'ServiceUnavailable') throw error
      await pause(200)
    }
  }
}

async function openLog() {
  if (postgres === undefined) return undefined
  const { openPostgresLog } = await importBuilt('postgres')
  const pool = new pg.Pool({ ...postgres, max: 3 })
  pool.on('error', () => {})
  return openPostgresLog({ pool })
}

async function transfers(caller) {
  for (let n = 0; ; n++) {
    const id = `${name}-${caller}-${n}`
    const amount = 1 + Math.floor(Math.random() * 10)
    const account = () => Math.floor(Math.random() * 4)
    say('begin', id)
    try {
      await transfer(id, account(), account(), amount)
      say('done', id)
    } catch (error) {
      const isExpected = ['ServiceUnavailable', 'ConcurrentModification'].includes(error.name)
      if (!isExpected && error.kind !== 'commit-state-unknown') throw error
      say('unknown', id)
      await pause(50)
    }
  }
}

/** Move an amount from an account of the table `left` to one of the table `right`. */
async function transfer(id, from, to, amount) {
  await ns.transaction(async tx => {
    const balance = async (table, account) => {
      const [row] = await tx.table(table).query().where(`account = ${account}`).toArray()
      return row.balance
    }
    const [left, right] = await Promise.all([balance('left', from), balance('right', to)])
    await tx.table('left').update({ balance: left - amount }, `account = ${from}`)
    await tx.table('right').update({ balance: right + amount }, `account = ${to}`)
    await tx.table('ledger').add([{ id, from, to, amount }])
  })
}
