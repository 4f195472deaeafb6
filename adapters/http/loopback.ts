/** Recognizes addresses of this machine. */
import { isIPv4 } from 'node:net'

/**
 * Return whether a host name or address certainly means this machine. Other names are not resolved, because their
 * addresses may change.
 */
export function isLoopback(host: string): boolean {
  const address = host.toLowerCase().replace(/^::ffff:(?=\d)/, '')
  return address === 'localhost' || address === '::1' || (isIPv4(address) && address.startsWith('127.'))
}
