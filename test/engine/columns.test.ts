import { columnSuite } from '../suites/columns.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const { name, open } of doors(temporaryRoots())) columnSuite(name, open)
