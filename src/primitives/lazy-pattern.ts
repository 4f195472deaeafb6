/**
 * Return a function that creates a regular expression at its first call. Use this function for patterns with `\p`. V8
 * checks the pattern of a literal when it loads the code, and then looks up all characters of a Unicode property.
 */
export function lazyPattern(source: string, flags: string): () => RegExp {
  let pattern: RegExp | null = null
  return () => {
    pattern ??= new RegExp(source, flags)
    return pattern
  }
}
