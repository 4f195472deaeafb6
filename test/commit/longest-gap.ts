/**
 * Begins to watch the event loop; the function it gives ends that and tells the most processor time that went between
 * two of its turns, milliseconds. Not the time on the wall, of which other processes take their share.
 */
export function longestGap(): () => number {
  const spent = () => {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1000
  }
  let last = spent()
  let longest = 0
  let watching = true
  const look = () => {
    const now = spent()
    longest = Math.max(longest, now - last)
    last = now
    if (watching) setImmediate(look)
  }
  setImmediate(look)
  return () => {
    watching = false
    look()
    return longest
  }
}
