import { vectorIndexSuite } from '../suites/vector-indexes.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const door of doors(temporaryRoots())) vectorIndexSuite(door)
