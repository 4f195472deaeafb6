import { expect, test } from 'vitest'
import { connect } from '../../src/index.js'
import { MemoryStore } from '../../src/storage/memory-store.js'
import { catalogSuite } from '../suites/catalog.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const door of doors(temporaryRoots())) catalogSuite(door)

test.each(['memory://', 'memory://named', 'some store'])(
  'A-142 a location in a reply names the same folder in a request: root %s',
  async name => {
    const ns = await connect(name, { store: new MemoryStore(name) })
    for (const request of [{ id: ['t'] }, { id: ['u'], location: 'lake/u' }]) {
      const { location } = await ns.operations.declareTable(request)
      await ns.operations.deregisterTable({ id: request.id })
      expect((await ns.operations.registerTable({ id: request.id, location })).location).toBe(location)
      expect((await ns.operations.describeTable({ id: request.id })).location).toBe(location)
    }
    await ns.close()
  },
)
