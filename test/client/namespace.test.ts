import { namespaceSuite } from '../suites/namespace.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const { name, open } of doors(temporaryRoots())) namespaceSuite(name, open)
