/**
 * Provides the stemmer for Greek, an algorithm by Ntais and Saroukos
 * (https://snowballstem.org/algorithms/greek/stemmer.html). First, letters lose their marks and case. A rule removes
 * suffixes, and appends letters to certain remaining stems.
 */
import { cut, type Suffixes, suffixes, suffixOf, wordsOf } from './suffixes.js'

interface Rule {
  readonly cut: Suffixes<'cut'>
  /** Appended to stems that end in one of `letters`. */
  readonly after: { readonly letters: string; readonly append: string } | undefined
  /** By letters: the stems, separated by spaces, to which exactly these letters are appended. */
  readonly whole: Readonly<Record<string, string>>
  /** By stem: the letters of `whole`. Computed at the first use, because a process uses few languages. */
  letters: ReadonlyMap<string, string> | undefined
  /** Ends of stems. The action is the letters that are appended to stems with this end. */
  readonly ending: Suffixes<string>
  /** The letters that are appended to all other stems. */
  readonly otherwise: string
  /** True if one of `endings` may still be removed after this rule was applied. */
  readonly keepsEnding: boolean
}

/**
 * By letter: the plain letter that replaces it, which is the first letter of its group. The published algorithm also
 * maps ϊ to η.
 */
const plain: ReadonlyMap<string, string> = new Map(
  wordsOf(
    'αάΑΆ εέΕΈ ηήϊΐΗΉ ιίΙΊΪ οόΟΌ υύϋΰΥΎΫ ωώΩΏ σςΣ βΒ γΓ δΔ ζΖ θΘ κΚ λΛ μΜ νΝ ξΞ πΠ ρΡ τΤ φΦ χΧ ψΨ',
  ).flatMap(letters => Array.from(letters.slice(1), letter => [letter, letters[0]!] as const)),
)
const marked = /[Α-ΡΣ-ΫΆΈΉΊΌΎΏάέήίόύώΐΰϊϋς]/g

/** Ends of irregular words, by the letters that replace them. */
const irregular = suffixes({
  φα: 'φαγια φαγιου φαγιων',
  σκα: 'σκαγια σκαγιου σκαγιων',
  ολο: 'ολογιου ολογια ολογιων',
  σο: 'σογιου σογια σογιων',
  τατο: 'τατογια τατογιου τατογιων',
  κρε: 'κρεασ κρεατοσ κρεατα κρεατων',
  περ: 'περασ περατοσ περατη περατα περατων',
  τερ: 'τερασ τερατοσ τερατα τερατων',
  φω: 'φωσ φωτοσ φωτα φωτων',
  καθεστ: 'καθεστωσ καθεστωτοσ καθεστωτα καθεστωτων',
  γεγον: 'γεγονοσ γεγονοτοσ γεγονοτα γεγονοτων',
})
const words: ReadonlyMap<string, string> = new Map([
  ['ισα', 'ισ'],
  ['αγαμε', 'αγαμ'],
])

const ismos = rule({
  cut: 'ισμο ισμοι ισμοσ ισμου ισμουσ ισμων',
  whole: { ισμ: 'σε μετασε μικροσε εγκλε αποκλε', ι: 'δανε αντιδανε' },
})

const rules: readonly Rule[] = [
  rule({
    cut: 'ιζα ιζεσ ιζε ιζαμε ιζατε ιζαν ιζανε ιζω ιζεισ ιζει ιζουμε ιζετε ιζουν ιζουνε',
    whole: {
      ι: 'αναμπα εμπα επα ξαναπα πα περιπα αθρο συναθρο δανε',
      ιζ: `μαρκ κορν αμπαρ αρρ βαθυρι βαρκ β βολβορ γκρ γλυκορ γλυκυρ ιμπ λ λου μαρ μ πρ μπρ πολυρ π ρ πιπερορ`,
    },
  }),
  rule({ cut: 'ωθηκα ωθηκεσ ωθηκε ωθηκαμε ωθηκατε ωθηκαν ωθηκανε', whole: { ων: 'αλ βι εν υψ λι ζω σ χ' } }),
  rule({
    cut: 'ισα ισεσ ισε ισαμε ισατε ισαν ισανε',
    whole: {
      ι: `αναμπα αθρο εμπα εσε εσωκλε επα ξαναπα επε περιπα συναθρο δανε κλε χαρτοπα εξαρχα μετεπε αποκλε απεκλε εκλε πε`,
      ισ: 'αν αφ γε γιγαντοαφ γκε δημοκρατ κομ γκ μ π πουκαμ ολο λαρ',
    },
  }),
  rule({
    cut: 'ισω ισεισ ισει ισουμε ισετε ισουν ισουνε',
    whole: {
      ι: `αναμπα εμπα εσε εσωκλε επα ξαναπα επε περιπα αθρο συναθρο δανε κλε χαρτοπα εξαρχα μετεπε αποκλε απεκλε εκλε πε`,
    },
  }),
  rule({
    cut: 'ιστοσ ιστου ιστο ιστε ιστοι ιστων ιστουσ ιστη ιστησ ιστα ιστεσ',
    whole: {
      ι: 'δανε συναθρο κλε σε εσωκλε ασε πλε',
      ιστ: `μ π απ αρ ηδ κτ σκ σχ υψ φα χρ χτ ακτ αορ ασχ ατα αχν αχτ γεμ γυρ εμπ ευπ εχθ ηφα καθ κακ κυλ λυγ μακ μεγ ταχ φιλ χωρ`,
    },
  }),
  ismos,
  rule({ cut: 'αρακι αρακια ουδακι ουδακια', whole: { αρακ: 'σ χ' } }),
  rule({
    cut: 'ακι ακια ιτσα ιτσασ ιτσεσ ιτσων αρακι αρακια',
    whole: {
      ακ: `βαμβ βρ καιμ κον κορ λαβρ λουλ μερ μουστ ναγκασ πλ ρ ρυ σ σκ σοκ σπαν τζ φαρμ χ καπακ αλισφ αμβρ ανθρ κ φυλ κατραπ κλιμ
        μαλ σλοβ φ σφ τσεχοσλοβ`,
      ιτσ: 'β βαλ γιαν γλ ζ ηγουμεν καρδ μακρυν νυφ πατερ π τοσ τριπολ',
    },
    ending: { ιτσ: 'κορ' },
  }),
  rule({ cut: 'ιδιο ιδια ιδιων', whole: { ιδ: 'αιφν ιρ ολο ψαλ' }, ending: { ιδ: 'ε παιχν' } }),
  rule({ cut: 'ισκοσ ισκου ισκο ισκε', whole: { ισκ: 'δ ιβ μην ρ φραγκ λυκ οβελ' } }),
  rule({
    cut: 'αδεσ αδων',
    ending: { '': 'οκ μαμ μαν μπαμπ πατερ γιαγι νταντ κυρ θει πεθερ' },
    otherwise: 'αδ',
    keepsEnding: true,
  }),
  rule({ cut: 'εδεσ εδων', ending: { εδ: 'οπ ιπ εμπ υπ γηπ δαπ κρασπ μιλ' }, keepsEnding: true }),
  rule({
    cut: 'ουδεσ ουδων',
    ending: { ουδ: 'αρκ καλιακ πεταλ λιχ πλεξ σκ σ φλ φρ βελ λουλ χν σπ τραγ φε' },
    keepsEnding: true,
  }),
  rule({ cut: 'εωσ εων', whole: { ε: 'θ δ ελ γαλ ν π ιδ παρ' } }),
  rule({ cut: 'ια ιου ιων', after: { letters: 'αεηιουω', append: 'ι' } }),
  rule({
    cut: 'ικα ικο ικου ικων',
    after: { letters: 'αεηιουω', append: 'ικ' },
    whole: {
      ικ: `αλ αδ ενδ αμαν αμμοχαλ ηθ ανηθ αντιδ φυσ βρωμ γερ εξωδ καλπ καλλιν καταδ μουλ μπαν μπαγιατ μπολ μποσ νιτ ξικ συνομηλ
        πετσ πιτσ πικαντ πλιατσ ποστελν πρωτοδ σερτ συναδ τσαμ υποδ φιλον φυλοδ χασ`,
    },
  }),
  rule({ cut: 'αγαμε ησαμε ουσαμε ηκαμε ηθηκαμε' }),
  rule({ cut: 'αμε', whole: { αμ: 'αναπ αποθ αποκ αποστ βουβ ξεθ ουλ πεθ πικρ ποτ σιχ χ' } }),
  rule({
    cut: 'αγανε ησανε ουσανε ιοντανε ιοτανε ιουντανε οντανε οτανε ουντανε ηκανε ηθηκανε',
    whole: { αγαν: 'τρ τσ' },
  }),
  rule({
    cut: 'ανε',
    after: { letters: 'αεηιοω', append: 'αν' },
    whole: {
      αν: `βετερ βουλκ βραχμ γ δραδουμ θ καλπουζ καστελ κορμορ λαοπλ μωαμεθ μ μουσουλμ ν ουλ π πελεκ πλ πολισ πορτολ σαρακατσ σουλτ
        τσαρλατ ορφ τσιγγ τσοπ φωτοστεφ χ ψυχοπλ αγ γαλ γερ δεκ διπλ αμερικαν ουρ πιθ πουριτ σ ζωντ ικ καστ κοπ λιχ λουθηρ μαιντ
        μελ σιγ σπ στεγ τραγ τσαγ φ ερ αδαπ αθιγγ αμηχ ανικ ανοργ απηγ απιθ ατσιγγ βασ βασκ βαθυγαλ βιομηχ βραχυκ διατ διαφ
        ενοργ θυσ καπνοβιομηχ καταγαλ κλιβ κοιλαρφ λιβ μεγλοβιομηχ μικροβιομηχ νταβ ξηροκλιβ ολιγοδαμ ολογαλ πενταρφ περηφ
        περιτρ πλατ πολυδαπ πολυμηχ στεφ ταβ τετ υπερηφ υποκοπ χαμηλοδαπ ψηλοταβ`,
    },
  }),
  rule({ cut: 'ησετε' }),
  rule({
    cut: 'ετε',
    after: { letters: 'αεηιοω', append: 'ετ' },
    whole: {
      ετ: `αβαρ βεν εναρ αβρ αδ αθ αν απλ βαρον ντρ σκ κοπ μπορ νιφ παγ παρακαλ σερπ σκελ συρφ τοκ υ δ εμ θαρρ θ`,
    },
    ending: {
      ετ: `οδ αιρ φορ ταθ διαθ σχ ενδ ευρ τιθ υπερθ ραθ ενθ ροθ σθ πυρ αιν συνδ συν συνθ χωρ πον βρ καθ ευθ εκθ νετ ρον αρκ βαρ βολ
        ωφελ`,
    },
  }),
  rule({ cut: 'οντασ ωντασ', whole: { οντ: 'αρχ' }, ending: { ωντ: 'κρε' } }),
  rule({ cut: 'ομαστε ιομαστε', whole: { ομαστ: 'ον' } }),
  rule({ cut: 'ιεστε', whole: { ιεστ: 'π απ συμπ ασυμπ ακαταπ αμεταμφ' } }),
  rule({ cut: 'εστε', whole: { ιεστ: 'αλ αρ εκτελ ζ μ ξ παρακαλ προ νισ' } }),
  rule({ cut: 'ηθηκα ηθηκεσ ηθηκε' }),
  rule({
    cut: 'ηκα ηκεσ ηκε',
    whole: { ηκ: 'διαθ θ παρακαταθ προσθ συνθ' },
    ending: { ηκ: 'σκωλ σκουλ ναρθ σφ οθ πιθ' },
  }),
  rule({
    cut: 'ουσα ουσεσ ουσε',
    whole: {
      ουσ: `φαρμακ χαδ αγκ αναρρ βρομ εκλιπ λαμπιδ λεχ μ πατ ρ λ μεδ μεσαζ υποτειν αμ αιθ ανηκ δεσποζ ενδιαφερ δε δευτερευ καθαρευ
        πλε τσα`,
    },
    ending: { ουσ: 'ποδαρ βλεπ πανταχ φρυδ μαντιλ μαλλ κυματ λαχ ληγ φαγ ομ πρωτ' },
  }),
  rule({ cut: 'ησε ησου ησα', whole: { ησ: 'ν χερσον δωδεκαν ερημον μεγαλον επταν' } }),
  rule({
    cut: 'αγα αγεσ αγε',
    whole: {
      αγ: `αβαστ πολυφ αδηφ παμφ ρ ασπ αφ αμαλ αμαλλι ανυστ απερ ασπαρ αχαρ δερβεν δροσοπ ξεφ νεοπ νομοτ ολοπ ομοτ προστ προσωποπ
        συμπ συντ τ υποτ χαρ αειπ αιμοστ ανυπ αποτ αρτιπ διατ εν επιτ κροκαλοπ σιδηροπ λ ναυ ουλαμ ουρ π τρ μ`,
    },
    ending: { '': 'ψοφ ναυλοχ', αγ: 'οφ πελ χορτ λλ σφ ρπ φρ πρ λοχ σμην' },
  }),
  rule({ cut: 'ηστε', whole: { ηστ: 'ασβ σβ αχρ χρ απλ αειμν δυσχρ ευχρ κοινοχρ παλιμψ' } }),
  rule({ cut: 'ουνε ησουνε ηθουνε', whole: { ουν: 'ν ρ σπι στραβομουτσ κακομουτσ εξων' } }),
  rule({ cut: 'ουμε ησουμε ηθουμε', whole: { ουμ: 'παρασουσ φ χ ωριοπλ αζ αλλοσουσ ασουσ' } }),
]

/** Stems before -ισμος that are adjectives. Their own suffix is removed too. */
const beforeIsmos = /(?:(?:αγνωστ|ατομ|γνωστ|εθν|εκλεκτ|σκεπτ|τοπ)ικ|(?:αλεξανδρ|βυζαντ|θεατρ)ιν)$/

const endings = suffixes({
  cut: `α αγατε αγαν αει αμαι αν ασ ασαι αται αω ε ει εισ ειτε εσαι εσ εται ι ιεμαι ιεμαστε ιεται ιεσαι ιεσαστε ιομασταν ιομουν
      ιομουνα ιονταν ιοντουσαν ιοσασταν ιοσαστε ιοσουν ιοσουνα ιοταν ιουμα ιουμαστε ιουνται ιουνταν η ηδεσ ηδων ηθει ηθεισ
      ηθειτε ηθηκατε ηθηκαν ηθουν ηθω ηκατε ηκαν ησ ησαν ησατε ησει ησεσ ησουν ησω ο οι ομαι ομασταν ομουν ομουνα ονται ονταν
      οντουσαν οσ οσασταν οσαστε οσουν οσουνα οταν ου ουμαι ουμαστε ουν ουνται ουνταν ουσ ουσαν ουσατε υ υσ ω ων`,
})
const grades = suffixes({ cut: 'εστερ εστατ οτερ οτατ υτερ υτατ ωτερ ωτατ' })

function rule(parts: {
  readonly cut: string
  readonly after?: Rule['after']
  readonly whole?: Readonly<Record<string, string>>
  readonly ending?: Readonly<Record<string, string>>
  readonly otherwise?: string
  readonly keepsEnding?: boolean
}): Rule {
  return {
    cut: suffixes({ cut: parts.cut }),
    after: parts.after,
    whole: parts.whole ?? {},
    letters: undefined,
    ending: suffixes(parts.ending ?? {}),
    otherwise: parts.otherwise ?? '',
    keepsEnding: parts.keepsEnding ?? false,
  }
}

export function stemGreek(text: string): string {
  let word = text.replace(marked, letter => plain.get(letter) ?? letter)
  if (word.length < 3) return word
  const known = words.get(word)
  if (known !== undefined) return known
  let mayEnd = true
  const first = suffixOf(word, irregular)
  if (first !== undefined) {
    word = cut(word, first.text.length) + first.action
    mayEnd = false
  }
  for (const step of rules) {
    const found = suffixOf(word, step.cut)
    if (found === undefined) continue
    const stem = cut(word, found.text.length)
    word = stem + putBack(stem, step)
    if (step === ismos && word === stem && beforeIsmos.test(stem)) word = cut(stem, 2)
    if (!step.keepsEnding) mayEnd = false
  }
  if (/ματ(?:α|ων|οσ)$/.test(word)) word = word.replace(/τ(?:α|ων|οσ)$/, '')
  if (mayEnd) word = withoutSuffix(word, endings)
  return withoutSuffix(word, grades)
}

function putBack(stem: string, step: Rule): string {
  const last = stem.at(-1)
  if (step.after !== undefined && last !== undefined && step.after.letters.includes(last))
    return step.after.append
  step.letters ??= lettersByStem(step.whole)
  return step.letters.get(stem) ?? suffixOf(stem, step.ending)?.action ?? step.otherwise
}

function lettersByStem(whole: Rule['whole']): Map<string, string> {
  const stems = Object.entries(whole)
  return new Map(stems.flatMap(([letters, texts]) => wordsOf(texts).map(stem => [stem, letters] as const)))
}

function withoutSuffix(word: string, table: Suffixes<'cut'>): string {
  const found = suffixOf(word, table)
  return found === undefined ? word : cut(word, found.text.length)
}
