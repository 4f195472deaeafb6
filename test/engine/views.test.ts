import { viewsSuite } from '../suites/views.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const door of doors(temporaryRoots())) viewsSuite(door)
