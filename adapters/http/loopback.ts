/** Addresses of this machine. */
import { isIPv4 } from 'node:net'

/** Whether a host is this machine and no other. Other names are not looked up: what they mean may change. */
export function isLoopback(host: string): boolean {
  const address = host.toLowerCase().replace(/^::ffff:(?=\d)/, '')
  return address === 'localhost' || address === '::1' || (isIPv4(address) && address.startsWith('127.'))
}
