/** Which table a location belongs to. */
import { expect, test } from 'vitest'
import { failure } from '../support/failure.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const { name, isLocal, open } of doors(temporaryRoots())) {
  test.runIf(isLocal)(
    `${name} the table at a location is reported by its current name, or its last one`,
    async () => {
      const { ns, close } = await open()
      await ns.createTable('t', [{ n: 1 }])
      const { location } = await ns.operations.describeTable({ id: ['t'] })
      expect(await ns.tableAt(location!)).toEqual(['t'])
      await ns.renameTable('t', 'u')
      expect(await ns.tableAt(location!)).toEqual(['u'])
      await ns.operations.deregisterTable({ id: ['u'] })
      expect(await ns.tableAt(location!)).toEqual(['u'])
      await ns.operations.declareTable({ id: ['d'], location: 'chosen/d' })
      expect(await ns.tableAt('chosen/d')).toEqual(['d'])
      expect(await ns.tableAt('elsewhere')).toBeNull()
      expect(await failure(ns.tableAt('../outside'))).toMatchObject({ code: 13 })
      await close()
    },
  )
}
