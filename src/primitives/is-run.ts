/** Numbers that follow each other, each one more than the one before. */

/** Whether all numbers are one such run. */
export function isRun(numbers: Uint32Array): boolean {
  return numbers.length > 0 && endOfRun(numbers, 0) === numbers.length
}

/** Where the run ends that begins at place `from`. */
export function endOfRun(numbers: Uint32Array, from: number): number {
  let end = from + 1
  while (end < numbers.length && numbers[end] === numbers[end - 1]! + 1) end++
  return end
}
