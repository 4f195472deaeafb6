// One of several processes that move money between the accounts of one root, until it is killed. argv: the engine, the
// directory, a name, the number of accounts, and a transfer whose outcome its predecessor did not learn, or "". Says what it
// is about to send, and what was answered, a line each, written at once.
import { writeSync } from 'node:fs'

const [engine, directory, name, accounts, unknown] = process.argv.slice(2)
const { connect, SheafError } = await import(engine)
const { operations } = await connect(directory)
const say = line => writeSync(1, `${JSON.stringify(line)}\n`)

say({ opened: name })
if (unknown !== '') await send(JSON.parse(unknown))
for (let n = 0; ; n++) {
  const from = Math.floor(Math.random() * accounts)
  const to = (from + 1 + Math.floor(Math.random() * (accounts - 1))) % accounts
  const before = [await read(from), await read(to)]
  const amount = 1 + Math.floor(Math.random() * 10)
  const transfer = `${name}.${n}`
  const entries = before.map(({ id, version, balance }, i) => ({
    id,
    version: version + 1,
    manifest_path: `elsewhere/${version + 1}`,
    metadata: { balance: String(balance + (i === 0 ? -amount : amount)), transfer },
  }))
  await send({ transfer, entries })
}

async function read(account) {
  const id = ['bank', `account-${account}`]
  const { versions } = await operations.listTableVersions({ id, descending: true, limit: 1 })
  return { id, version: versions[0].version, balance: Number(versions[0].metadata.balance) }
}

async function send(sending) {
  say({ sending })
  const { transfer, entries } = sending
  const request = { operations: entries.map(entry => ({ create_table_version: entry })) }
  try {
    const { transaction_id } = await operations.batchCommitTables(request, { idempotencyKey: transfer })
    say({ done: transfer, transaction: transaction_id })
  } catch (error) {
    // Somebody else was faster with one of the two accounts.
    if (!(error instanceof SheafError) || error.code !== 14) throw error
    say({ refused: transfer })
  }
}
