import { editSuite } from '../suites/edits.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const { name, open } of doors(temporaryRoots())) editSuite(name, open)
