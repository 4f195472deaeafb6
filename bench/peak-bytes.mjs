import { readFileSync } from 'node:fs'

/**
 * Return the maximum memory of this process in bytes. Uses the count of the Linux kernel if it is available, because it
 * does not include the memory of the parent process.
 */
export function peakBytes() {
  try {
    return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1])
  } catch {
    return 1024 * process.resourceUsage().maxRSS
  }
}
