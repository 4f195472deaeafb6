/** Checks of roots. Few processes ask for one: what does them is loaded for the first. */

import { checkRootPath } from '../client/root-path.js'
import { type Verification, type VerifyOptions, verifyShape } from '../client/verification.js'
import { lazyImport } from '../lazy-import.js'
import { refuseMore } from '../protocol/arguments.js'
import { parse } from '../protocol/parse.js'
import type { Engine } from '../root/engine.js'

const checks = lazyImport(() => import('../verify/verify.js'))

/**
 * Checks the root in a directory, also one that cannot be opened any more. Nobody is told that it is read: in a root that others
 * write to use `Namespace.verify`, or take files for missing that maintenance has deleted meanwhile. Throws code 1 where there is no
 * root, 0 for one that a newer Sheaf wrote, and what the disk throws.
 */
export async function verify(path: string, options?: VerifyOptions): Promise<Verification>
export async function verify(
  path: string,
  options: VerifyOptions = {},
  ...more: readonly unknown[]
): Promise<Verification> {
  refuseMore('verify', 2, more)
  checkRootPath(path)
  const asked = parse(verifyShape, options, 'verify')
  const { verifyAt } = await checks()
  return verifyAt(path, asked)
}

/** Checks a root that is open as it is now. */
export async function verifyOpen(engine: Engine, options: VerifyOptions): Promise<Verification> {
  const asked = { ...options }
  const { verifyHeld } = await checks()
  return verifyHeld(engine, asked)
}
