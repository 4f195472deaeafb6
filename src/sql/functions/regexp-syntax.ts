/**
 * Translate regular expressions from the syntax of Rust's regex crate, which DataFusion's clients use, to the syntax of
 * RE2.
 *
 * The two syntaxes differ in the classes of letters, digits and spaces (which have only ASCII characters in RE2, but
 * all of Unicode here), in the names of Unicode classes, and in some escape sequences.
 *
 * - Syntax that RE2 would interpret differently is refused. The exception is `\b`, which only knows ASCII letters.
 * - The size of the pattern with all repetitions expanded is limited before RE2 compiles the pattern.
 */
import { invalidInput, quote, type SheafError, unsupported } from '../../errors.js'
import { RescanCheck } from './regexp-rescan.js'

/** Maximum length of a pattern in UTF-16 units. */
const maxLength = 32_768

/** Maximum number of characters, classes and assertions of a pattern, with repetitions expanded. */
const maxSize = 20_000

/** Maximum number of flags. Flags may repeat. */
const maxFlags = 64

/** The flags of patterns. The flag `g` is missing, because `regexp_replace` interprets it. */
const flagLetters = 'imsxUu'

/** The ranges of Unicode white space, for use inside a class. `noSpace` has all other characters. */
const space =
  '\\t-\\r \\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}'
const noSpace =
  '\\x{0}-\\x{8}\\x{E}-\\x{1F}!-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}' +
  '\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{10FFFF}'

/**
 * The ranges of the class `\w`, for use inside a class: letters, marks, decimal digits, connectors, joiners, and the
 * symbols that Unicode counts as letters.
 */
const word =
  '\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}\\x{200C}\\x{200D}' +
  '\\x{24B6}-\\x{24E9}\\x{1F130}-\\x{1F149}\\x{1F150}-\\x{1F169}\\x{1F170}-\\x{1F189}'
const wordCharacter = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u

/** The names of Unicode's general categories in RE2, by their long names in lower case without separators. */
const categories: Readonly<Record<string, string>> = {
  letter: 'L',
  casedletter: 'LC',
  uppercaseletter: 'Lu',
  lowercaseletter: 'Ll',
  titlecaseletter: 'Lt',
  modifierletter: 'Lm',
  otherletter: 'Lo',
  mark: 'M',
  nonspacingmark: 'Mn',
  spacingmark: 'Mc',
  enclosingmark: 'Me',
  number: 'N',
  decimalnumber: 'Nd',
  letternumber: 'Nl',
  othernumber: 'No',
  punctuation: 'P',
  connectorpunctuation: 'Pc',
  dashpunctuation: 'Pd',
  openpunctuation: 'Ps',
  closepunctuation: 'Pe',
  initialpunctuation: 'Pi',
  finalpunctuation: 'Pf',
  otherpunctuation: 'Po',
  symbol: 'S',
  mathsymbol: 'Sm',
  currencysymbol: 'Sc',
  modifiersymbol: 'Sk',
  othersymbol: 'So',
  separator: 'Z',
  spaceseparator: 'Zs',
  lineseparator: 'Zl',
  paragraphseparator: 'Zp',
  other: 'C',
  control: 'Cc',
  format: 'Cf',
  privateuse: 'Co',
}

/**
 * Check the flags in a call. `others`: flags that the function takes in addition to those of patterns. Throws
 * `InvalidInput` for an unknown flag, and `Unsupported` for the flag R.
 */
export function checkFlags(flags: string, others: string): void {
  if (flags.length > maxFlags) {
    throw invalidInput(`${flags.length} flags of a regular expression are too many`, {
      hint: `the flags are ${[...flagLetters, ...others].join(', ')}`,
    })
  }
  for (const flag of flags) {
    if (flagLetters.includes(flag) || others.includes(flag)) continue
    if (flag === 'g') {
      throw invalidInput("the flag 'g' (all matches) is for regexp_replace only", {
        hint: 'leave the flag out',
      })
    }
    if (flag === 'R') throw unsupported("the flag 'R' (lines that end in CRLF) is not supported")
    throw invalidInput(`${quote(flag)} is not a flag of a regular expression`, {
      hint: `the flags are ${[...flagLetters, ...others].join(', ')}`,
    })
  }
}

/** Check the length of a pattern. Throws `InvalidInput` if the pattern is too long. */
export function checkLength(pattern: string): void {
  if (pattern.length > maxLength) {
    throw invalidInput(`a regular expression of ${pattern.length} characters is too long`, {
      hint: `write a pattern of at most ${maxLength} characters`,
    })
  }
}

/** A pattern in RE2's syntax. */
interface Re2Pattern {
  readonly source: string
  /** Whether a search for all matches in a text may take more than linear time (regexp-rescan.ts). */
  readonly mayRescan: boolean
  /** Number of characters, classes and assertions, with repetitions expanded. */
  readonly size: number
}

/**
 * Translate a pattern to the syntax of RE2. Throws `InvalidInput` for a pattern that is invalid or too large, and
 * `Unsupported` for features that RE2 does not have.
 */
export function toRe2(pattern: string, flags: string): Re2Pattern {
  const letters = [...new Set(flags)].filter(flag => 'imsU'.includes(flag)).join('')
  const { source, mayRescan, size } = new Translator(pattern, flags.includes('x')).run()
  return { source: letters === '' ? source : `(?${letters})${source}`, mayRescan, size }
}

/** The state before an open group: the flag `x`, and the size of the enclosing group so far. */
interface Group {
  readonly verbose: boolean
  readonly size: number
}

/** Translates a pattern in one pass. `verbose` is the flag `x`: white space and comments in the pattern are ignored. */
class Translator {
  readonly #pattern: string
  readonly #groups: Group[] = []
  readonly #rescan = new RescanCheck()
  #verbose: boolean
  #at = 0
  #out = ''
  /** Size of the innermost open group so far. */
  #size = 0
  /** Size of the last part of this group, which a repetition would repeat. */
  #last = 0

  constructor(pattern: string, verbose: boolean) {
    this.#pattern = pattern
    this.#verbose = verbose
  }

  run(): Re2Pattern {
    while (this.#at < this.#pattern.length) this.#item()
    return { source: this.#out, mayRescan: this.#rescan.finish(), size: this.#total() }
  }

  /** Return the size of the whole pattern. It includes the groups that enclose an unclosed group. */
  #total(): number {
    return this.#groups.reduce((sum, group) => sum + group.size, this.#size)
  }

  #item(): void {
    if (this.#verbose && this.#skipBlank()) return
    const character = this.#pattern[this.#at]!
    if (character === '\\') this.#atom(this.#escape(false))
    else if (character === '[') this.#atom(this.#class())
    else if (character === '(') this.#open()
    else if (character === ')') this.#close()
    else if (character === '{') this.#repetition()
    else if ('*+?'.includes(character)) this.#repeat(character)
    else if (character === '|') {
      this.#rescan.alternative()
      this.#copy(1)
    } else if (character === '^' || character === '$') this.#atom(this.#take(1))
    else this.#atom(this.#take(this.#pattern.codePointAt(this.#at)! > 0xffff ? 2 : 1))
  }

  /** Skip one white space character or a comment. Return false if the pattern has neither at this position. */
  #skipBlank(): boolean {
    const rest = /[\s#]/y
    rest.lastIndex = this.#at
    if (!rest.test(this.#pattern)) return false
    const end = this.#pattern[this.#at] === '#' ? this.#pattern.indexOf('\n', this.#at) : this.#at
    this.#at = end === -1 ? this.#pattern.length : end + 1
    return true
  }

  #take(count: number): string {
    const text = this.#pattern.slice(this.#at, this.#at + count)
    this.#at += count
    return text
  }

  #copy(count: number): void {
    this.#out += this.#take(count)
  }

  #atom(text: string): void {
    this.#rescan.atom()
    this.#out += text
    this.#grow(1)
    this.#last = 1
  }

  #grow(size: number): void {
    this.#size += size
    if (this.#size > maxSize) {
      throw invalidInput('the regular expression is too large', {
        hint: `use fewer repetitions: a pattern has at most ${maxSize} parts, and {n} counts a part n times`,
      })
    }
  }

  #open(): void {
    this.#groups.push({ verbose: this.#verbose, size: this.#size })
    this.#size = 0
    this.#rescan.open()
    const head = /\(\?([a-zA-Z]*)(-[a-zA-Z]*)?([:)])/y
    head.lastIndex = this.#at
    const match = head.exec(this.#pattern)
    if (this.#pattern[this.#at + 1] !== '?') this.#copy(1)
    else if (match === null) this.#namedGroup()
    else this.#flags(match)
  }

  #flags([whole, on = '', off = '', end]: RegExpExecArray): void {
    checkFlags(on + off.slice(1), '')
    this.#at += whole.length
    // Without a colon, flags apply to the rest of the enclosing group.
    if (end === ')') {
      this.#size = this.#groups.pop()!.size
      this.#rescan.close()
    }
    if (on.includes('x')) this.#verbose = true
    if (off.includes('x')) this.#verbose = false
    const kept = (on + off).replace(/[xu]/g, '').replace(/-$/, '')
    this.#out += kept === '' && end === ')' ? '' : `(?${kept}${end}`
  }

  #namedGroup(): void {
    const name = /\(\?P?<(?![=!])/y
    name.lastIndex = this.#at
    const match = name.exec(this.#pattern)
    if (match === null) throw this.#refused('look-around')
    this.#copy(match[0].length)
    const end = this.#pattern.indexOf('>', this.#at)
    if (end !== -1) this.#copy(end + 1 - this.#at)
  }

  #close(): void {
    this.#copy(1)
    this.#rescan.close()
    const group = this.#groups.pop()
    if (group === undefined) return
    this.#verbose = group.verbose
    this.#last = Math.max(1, this.#size)
    this.#size = group.size
    this.#grow(this.#last)
  }

  #repetition(): void {
    const counts = /\{\s*(\d{0,6})\s*(?:,\s*(\d{0,6})\s*)?\}/y
    counts.lastIndex = this.#at
    const match = counts.exec(this.#pattern)
    if (match === null) {
      this.#atom(this.#take(1))
      return
    }
    this.#at += match[0].length
    this.#out += match[0].replace(/\s/g, '')
    const [least, greatest] = [
      Number(match[1]),
      match[2] === '' ? Number.POSITIVE_INFINITY : Number(match[2] ?? match[1]),
    ]
    this.#rescan.repeat(least, greatest)
    this.#skipLazy()
    const times = Math.max(1, least, Number(match[2] ?? 0))
    this.#grow(this.#last * (times - 1))
    this.#last *= times
  }

  #repeat(sign: string): void {
    this.#rescan.repeat(sign === '+' ? 1 : 0, sign === '?' ? 1 : Number.POSITIVE_INFINITY)
    this.#copy(1)
    this.#skipLazy()
  }

  /** Copy the `?` after a lazy repetition, if there is one. */
  #skipLazy(): void {
    if (this.#pattern[this.#at] === '?') this.#copy(1)
  }

  #class(): string {
    let text = this.#take(this.#pattern[this.#at + 1] === '^' ? 2 : 1)
    if (this.#pattern[this.#at] === ']') text += this.#take(1)
    for (;;) {
      const character = this.#pattern[this.#at]
      if (character === undefined) throw this.#wrong('a class is not closed by ]')
      if (character === ']') return text + this.#take(1)
      if (this.#verbose && this.#skipBlank()) continue
      if (character === '\\') text += this.#escape(true)
      else if (character === '[') text += this.#asciiClass()
      else if (/^(&&|--|~~)/.test(this.#pattern.slice(this.#at, this.#at + 2))) {
        throw this.#refused('a class made of classes')
      } else text += this.#take(1)
    }
  }

  #asciiClass(): string {
    const name = /\[:\^?[a-z]+:\]/y
    name.lastIndex = this.#at
    const match = name.exec(this.#pattern)
    if (match === null) throw this.#refused('a class inside a class')
    return this.#take(match[0].length)
  }

  #escape(inClass: boolean): string {
    const letter = this.#pattern[this.#at + 1]
    if (letter === undefined) throw this.#wrong('it ends in a single \\')
    const whole = (part: string, negated: boolean) => {
      this.#at += 2
      return inClass ? part : `[${negated ? '^' : ''}${part}]`
    }
    switch (letter) {
      case 'd':
      case 'D':
        this.#at += 2
        return letter === 'd' ? '\\p{Nd}' : '\\P{Nd}'
      case 's':
        return whole(space, false)
      case 'S':
        return whole(inClass ? noSpace : space, true)
      case 'w':
        return whole(word, false)
      case 'W':
        return whole(inClass ? noWord() : word, true)
      case 'p':
      case 'P':
        return this.#property()
      case 'x':
      case 'u':
      case 'U':
        return this.#codePoint()
      case '<':
      case '>':
        throw this.#refused(`\\${letter}`)
      case 'b':
      case 'B':
      case 'A':
      case 'z':
        if (inClass || this.#pattern[this.#at + 2] === '{') throw this.#refused(`\\${letter} here`)
        return this.#take(2)
    }
    if (/\d/.test(letter)) throw this.#refused('a reference to a group')
    if (/[a-z]/i.test(letter) && !'aftnrv'.includes(letter))
      throw this.#wrong(`\\${letter} is not an escape sequence`)
    if (letter === ' ') {
      this.#at += 2
      return '\\x20'
    }
    return this.#take(2)
  }

  #property(): string {
    const name = /\\([pP])(?:([A-Za-z])|\{(\^?)([^{}]{1,60})\})/y
    name.lastIndex = this.#at
    const match = name.exec(this.#pattern)
    if (match === null) throw this.#wrong('\\p needs the name of a Unicode class, as in \\p{Greek}')
    this.#at += match[0].length
    const [, letter, short, negated, long] = match
    if (short !== undefined) return `\\${letter}${short}`
    const plain = long!.replace(/^\s*(script|sc|general_?category|gc)\s*[=:]\s*/i, '').trim()
    const key = plain.toLowerCase().replace(/[\s_-]/g, '')
    const category = Object.hasOwn(categories, key) ? categories[key] : undefined
    const script = plain.toLowerCase().replace(/(^|[\s_-])([a-z])/g, (_, gap: string, first: string) => {
      return (gap === '' ? '' : '_') + first.toUpperCase()
    })
    const isShort = /^[A-Z][a-z]?$/.test(plain)
    return `\\${letter}{${negated}${category ?? (isShort ? plain : script)}}`
  }

  #codePoint(): string {
    const digits = /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|[xuU]\{([\da-fA-F]{1,8})\})/y
    digits.lastIndex = this.#at
    const match = digits.exec(this.#pattern)
    const code = match === null ? undefined : match.slice(1).find(group => group !== undefined)
    if (match === null || code === undefined)
      throw this.#wrong('\\x and \\u need a code point, as in \\x{e9}')
    this.#at += match[0].length
    return `\\x{${code}}`
  }

  #wrong(why: string): SheafError {
    return invalidInput(`${quote(this.#pattern)} is not a regular expression: ${why}`)
  }

  #refused(what: string): SheafError {
    return unsupported(`${what} in the regular expression ${quote(this.#pattern)} is not supported`, {
      hint: 'references and look-around could take exponential time; patterns take time linear in the text',
    })
  }
}

let noWordRanges: string | null = null

/** Return the ranges of the characters that are not in `\w`, for use inside a class. They are computed once. */
function noWord(): string {
  if (noWordRanges !== null) return noWordRanges
  let text = ''
  let start = -1
  for (let point = 0; point <= 0x110000; point++) {
    const isOutside = point < 0x110000 && !wordCharacter.test(String.fromCodePoint(point))
    if (isOutside && start === -1) start = point
    if (isOutside || start === -1) continue
    text += `\\x{${start.toString(16)}}-\\x{${(point - 1).toString(16)}}`
    start = -1
  }
  noWordRanges = text
  return text
}

/**
 * Return the literal text of a pattern without special characters, except for a `^` at its start (`atStart`) and a `$`
 * at its end (`atEnd`). Return null for any other pattern.
 */
export function plainText(
  pattern: string,
): { readonly atStart: boolean; readonly atEnd: boolean; readonly text: string } | null {
  const atStart = pattern.startsWith('^')
  const atEnd = pattern.endsWith('$')
  const text = pattern.slice(atStart ? 1 : 0, atEnd && pattern.length > 1 ? -1 : undefined)
  return /[\\^$.|?*+()[\]{}]/.test(text) ? null : { atStart, atEnd, text }
}
