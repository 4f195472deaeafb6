import { columnSuite } from '../suites/columns.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const { name, open } of doors(temporaryRoots())) columnSuite(name, open)
