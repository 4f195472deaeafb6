import { versionsAndTagsModel } from '../suites/versions-and-tags.js'
import { temporaryRoots } from '../support/roots.js'
import { doors } from '../support/transports.js'

/** Histories to try. */
const effort: Readonly<Record<string, number>> = {
  'in memory': 50,
  'in a directory': 5,
  'over HTTP': 25,
  'in a worker': 5,
}

for (const { name, open } of doors(temporaryRoots())) versionsAndTagsModel(name, open, effort[name]!)
