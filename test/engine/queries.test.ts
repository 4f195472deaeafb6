import { queriesSuite } from '../suites/queries.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const door of doors(temporaryRoots())) queriesSuite(door)
