/** Loads the code that reads Arrow data, with the first reply that has rows. */
import { lazyImport } from '../lazy-import.js'

/**
 * Call this after the reply has arrived, not before the request is sent: then the first call of a process sends its
 * request as early as all later calls. A process that opens a root sets the module, because the engine has loaded it.
 */
export const importReplies = lazyImport(() => import('./read-replies.js'))
