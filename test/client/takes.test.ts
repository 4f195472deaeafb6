import { takesSuite } from '../suites/takes.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const door of doors(temporaryRoots())) takesSuite(door)
