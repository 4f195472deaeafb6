/** Shows the service at work. Run `npm run build`, then `node dist/examples/multi-tenant-service/main.js`. */
import { connect, SheafError } from 'sheaf'
import { connectTasks } from './client.js'
import { countOpenTasks, startService } from './service.js'

const ns = await connect('memory://')
const service = await startService(ns, { acme: 'a long random text', globex: 'another one' }, 0)
const acme = connectTasks(service.url, 'acme', 'a long random text')
const globex = connectTasks(service.url, 'globex', 'another one')
const intruder = connectTasks(service.url, 'acme', 'another one')

await acme.add({ id: 't1', title: 'Write the offer', due: new Date('2026-04-02'), done: false })
await acme.add({ id: 't2', title: 'Call the bank', due: new Date('2026-04-01'), done: false })
await globex.add({ id: 't1', title: 'Order paper', due: null, done: false })
console.log('finished:', await acme.finish('t2'))
console.log('open tasks of acme:', await acme.open())
console.log('open tasks of globex:', await globex.open())
console.log('open tasks of all:', await countOpenTasks(ns))
try {
  await intruder.open()
} catch (error) {
  if (!(error instanceof SheafError)) throw error
  console.log('refused:', error.name, error.message)
}

for (const each of [acme, globex, intruder, service, ns]) await each.close()
