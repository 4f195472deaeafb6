import { versionsAndTagsModel } from '../suites/versions-and-tags.js'
import { doors } from '../support/doors.js'
import { temporaryRoots } from '../support/roots.js'

/** Histories to try. */
const effort: Readonly<Record<string, number>> = {
  'in memory': 50,
  'in a directory': 5,
  'over HTTP': 25,
  'in a worker': 5,
}

for (const { name, open } of doors(temporaryRoots())) versionsAndTagsModel(name, open, effort[name]!)
