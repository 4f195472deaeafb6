import { changesSuite } from '../suites/changes.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const door of doors(temporaryRoots())) changesSuite(door)
