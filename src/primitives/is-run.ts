/** Runs of consecutive numbers: each number is the previous number plus one. */

/** Return whether all numbers form one run. */
export function isRun(numbers: Uint32Array): boolean {
  return numbers.length > 0 && endOfRun(numbers, 0) === numbers.length
}

/** Return the index after the last number of the run that starts at index `from`. */
export function endOfRun(numbers: Uint32Array, from: number): number {
  let end = from + 1
  while (end < numbers.length && numbers[end] === numbers[end - 1]! + 1) end++
  return end
}
