import { editSuite } from '../suites/edits.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const { name, open } of doors(temporaryRoots())) editSuite(name, open)
