/**
 * Check whether a search for all matches of a pattern may read the same part of a text many times.
 *
 * A single search takes linear time, but it may read far beyond the match that it finds. For example, for each match
 * `a.*b|a` searches for a `b` up to the end of the text, and then matches a single `a`. The text that is read again is
 * limited to a fixed length in two cases:
 *
 * - No required part follows an unbounded repetition. Then a match is as long as the text that was read.
 * - The pattern is one sequence of characters and classes, repeated or not. If the text that was read after the first
 *   match contained a second match, the first match would have extended to the end of the second one.
 */

/** An element of a sequence: a character, class, assertion or group. */
interface Element {
  readonly isGroup: boolean
  /** Whether the element may match the empty text. */
  nullable: boolean
  /** Whether the element contains an unbounded repetition. */
  endless: boolean
  /** Whether a required part follows an unbounded repetition inside the element. */
  open: boolean
  /** Whether the element is or contains an alternation with an unbounded repetition. */
  isChoice: boolean
}

/**
 * A sequence of elements: one alternative of a group. The first four fields have the meaning that they have in
 * `Element`.
 */
interface Sequence {
  nullable: boolean
  endless: boolean
  open: boolean
  isChoice: boolean
  /** The last element, which a repetition may still change. */
  pending: Element | null
}

interface Group {
  readonly alternatives: Sequence[]
}

/** Checks a pattern. The translator calls a method for each part of the pattern, in order. */
export class RescanCheck {
  readonly #groups: Group[] = [{ alternatives: [emptySequence()] }]
  #mayRescan = false

  /** Add a character, class or assertion. */
  atom(): void {
    this.#add({ isGroup: false, nullable: false, endless: false, open: false, isChoice: false })
  }

  open(): void {
    this.#groups.push({ alternatives: [emptySequence()] })
  }

  close(): void {
    const group = this.#groups.length > 1 ? this.#groups.pop() : undefined
    if (group !== undefined) this.#add(this.#closed(group))
  }

  alternative(): void {
    this.#groups.at(-1)!.alternatives.push(emptySequence())
  }

  /** Repeat the last element at least `least` and at most `greatest` times. */
  repeat(least: number, greatest: number): void {
    const { pending } = this.#sequence()
    if (pending === null) return
    const isEndless = greatest === Number.POSITIVE_INFINITY
    if (pending.isGroup && (isEndless || pending.endless)) this.#mayRescan = true
    if (least === 0) pending.nullable = true
    if (isEndless) pending.endless = true
  }

  /** Return whether a search for all matches may read parts of the text many times. */
  finish(): boolean {
    const whole = this.#closed(this.#groups[0]!)
    return this.#mayRescan || (this.#groups[0]!.alternatives.length > 1 && whole.open)
  }

  #sequence(): Sequence {
    return this.#groups.at(-1)!.alternatives.at(-1)!
  }

  #add(element: Element): void {
    const sequence = this.#sequence()
    this.#mergePending(sequence)
    sequence.pending = element
  }

  /** Merge the pending element into the sequence. Call this when no repetition can follow the element any more. */
  #mergePending(sequence: Sequence): void {
    const element = sequence.pending
    sequence.pending = null
    if (element === null) return
    if (!element.nullable) {
      sequence.nullable = false
      if (sequence.endless) sequence.open = true
      if (sequence.isChoice) this.#mayRescan = true
    }
    sequence.endless ||= element.endless
    sequence.open ||= element.open
    sequence.isChoice ||= element.isChoice
  }

  #closed({ alternatives }: Group): Element {
    for (const alternative of alternatives) this.#mergePending(alternative)
    const isChoice = alternatives.length > 1
    const endless = alternatives.some(alternative => alternative.endless)
    const open = alternatives.some(alternative => alternative.open)
    if (isChoice && open) this.#mayRescan = true
    return {
      isGroup: true,
      nullable: alternatives.some(alternative => alternative.nullable),
      endless,
      open,
      isChoice: (isChoice && endless) || alternatives.some(alternative => alternative.isChoice),
    }
  }
}

function emptySequence(): Sequence {
  return { nullable: true, endless: false, open: false, isChoice: false, pending: null }
}
