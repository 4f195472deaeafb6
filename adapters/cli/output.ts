/** Standard output as a target of the writers of files. */
import { Writable } from 'node:stream'

/**
 * Return a stream that writes to standard output, and waits while it cannot take more. Ending the stream does not close
 * standard output. If its reader is gone, the program ends (program.ts).
 */
export function standardOutput(): Writable {
  return new Writable({
    write(chunk, _, done) {
      process.stdout.write(chunk, error => {
        if ((error as NodeJS.ErrnoException | null | undefined)?.code !== 'EPIPE') done(error)
      })
    },
  })
}
