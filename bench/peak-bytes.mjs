import { readFileSync } from 'node:fs'

/** The most memory this process has had, by the kernel's count where it tells: what a process inherits it does not count. */
export function peakBytes() {
  try {
    return 1024 * Number(/VmHWM:\s+(\d+)/.exec(readFileSync('/proc/self/status', 'latin1'))[1])
  } catch {
    return 1024 * process.resourceUsage().maxRSS
  }
}
