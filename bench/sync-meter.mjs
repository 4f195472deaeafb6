/**
 * Measures the time that this process waits for syncs of files and directories. Import this module before any module
 * that syncs: it replaces functions of `node:fs`.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

/** The number of syncs of this process so far, and the sum of their times in milliseconds. */
export const syncs = { count: 0, milliseconds: 0 }

function ended(started) {
  syncs.count++
  syncs.milliseconds += performance.now() - started
}

for (const name of ['fsync', 'fdatasync']) {
  const call = fs[name]
  fs[name] = (fd, done) => {
    const started = performance.now()
    call(fd, error => {
      ended(started)
      done(error)
    })
  }
}
for (const name of ['fsyncSync', 'fdatasyncSync']) {
  const call = fs[name]
  fs[name] = fd => {
    const started = performance.now()
    call(fd)
    ended(started)
  }
}
syncBuiltinESMExports()
