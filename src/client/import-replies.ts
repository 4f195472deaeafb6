/** Loads the code that reads Arrow data when the first reply with rows arrives. */
import { lazyImport } from '../lazy-import.js'

/**
 * Call this after the reply has arrived, so that loading the module does not delay the first request. A process that
 * opens a root sets the module, because its engine has already loaded it.
 */
export const importReplies = lazyImport(() => import('./read-replies.js'))
