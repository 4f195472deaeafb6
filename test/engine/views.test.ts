import { viewsSuite } from '../suites/views.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

for (const door of doors(temporaryRoots())) viewsSuite(door)
