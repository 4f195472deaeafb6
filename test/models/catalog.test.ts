/** Histories of calls, made up by a machine, on a real catalog and on one of plain maps: both must show the same. */
import fc from 'fast-check'
import { test } from 'vitest'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'
import { begin, commands, end, Model, Real } from './catalog-commands.js'

/** Histories to try. */
const effort: Readonly<Record<string, number>> = { 'in memory': 40, 'in a directory': 15, 'over HTTP': 15 }

for (const { name, open } of doors(temporaryRoots())) {
  const numRuns = effort[name] ?? 0
  test.runIf(numRuns > 0)(`${name}: the catalog behaves like its model`, async () => {
    await fc.assert(
      fc.asyncProperty(commands, async history => {
        const root = await open()
        try {
          const [model, real] = [new Model(), new Real(root)]
          await begin(model, real)
          await fc.asyncModelRun(() => ({ model, real }), history)
          await end(model, real)
        } finally {
          await root.close()
        }
      }),
      { numRuns },
    )
  })
}
