/**
 * Put a name in backticks, which quote names in SQL and in paths of fields. Backticks inside of the name are doubled.
 */
export function inBackticks(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``
}
