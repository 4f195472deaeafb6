import { queriesSuite } from '../suites/queries.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const door of doors(temporaryRoots())) queriesSuite(door)
