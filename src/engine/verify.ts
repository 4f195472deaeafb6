/** Starts the verification of roots. The code of the verification is loaded at the first call. */

import { checkRootPath } from '../client/root-path.js'
import { type Verification, type VerifyOptions, verifyShape } from '../client/verification.js'
import { invalidInput, quote } from '../errors.js'
import { lazyImport } from '../lazy-import.js'
import { refuseMore } from '../protocol/arguments.js'
import { parse } from '../protocol/parse.js'
import type { Engine } from '../root/engine.js'

const importVerify = lazyImport(() => import('../verify/verify.js'))

/**
 * Verify the root in a directory, even if it cannot be opened. The call takes no pin. If another process deletes files
 * during the verification, they are reported as missing, so use `Namespace.verify` for a root that is in use.
 *
 * Throws `NamespaceNotFound` if the directory has no root, `Unsupported` if a newer version of Sheaf wrote it, and
 * errors of the file system.
 */
export async function verify(path: string, options?: VerifyOptions): Promise<Verification>
export async function verify(
  path: string,
  options: VerifyOptions = {},
  ...more: readonly unknown[]
): Promise<Verification> {
  refuseMore('verify', 2, more)
  checkRootPath(path)
  const checkedOptions = parse(verifyShape, options, 'verify')
  if (/^(?:s3|az|gs):\/\//i.test(path)) {
    throw invalidInput(`verify takes a local directory, got ${quote(path)}`, {
      hint: 'call verify() of the namespace that connect returns',
    })
  }
  const { verifyAt } = await importVerify()
  return verifyAt(path, checkedOptions)
}

/** Verify an open root in its newest state. */
export async function verifyOpen(engine: Engine, options: VerifyOptions): Promise<Verification> {
  const checkedOptions = { ...options }
  const { verifyHeld } = await importVerify()
  return verifyHeld(engine, checkedOptions)
}
