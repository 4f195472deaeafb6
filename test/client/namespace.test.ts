import { namespaceSuite } from '../suites/namespace.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

for (const { name, open } of doors(temporaryRoots())) namespaceSuite(name, open)
