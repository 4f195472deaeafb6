/** Put a name in backticks, as SQL and paths of fields quote it. Backticks of the name are doubled. */
export function inBackticks(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
