import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { dataPath } from '../../../../scripts/data.js'
import { stemmerOf } from '../../../../src/indexes/text/analysis/stem.js'
import type { Language } from '../../../../src/protocol/index-shapes.js'

/** How many words of Snowball's vocabularies get another stem than they should. */
const differing: Readonly<Partial<Record<Language, number>>> = {
  Dutch: 0,
  English: 0,
  French: 0,
  German: 0,
  Russian: 0,
  Spanish: 0,
}

describe.each(Object.entries(differing) as [Language, number][])('the vocabulary of %s', (language, most) => {
  const [words, stems] = ['voc', 'output'].map(kind =>
    dataPath('snowball', `${language.toLowerCase()}.${kind}.txt.gz`),
  )
  if (words == null || stems == null) return void test.skip('is not where SHEAF_DATA says')

  test(`differs in ${most} words`, () => {
    const stem = stemmerOf(language)
    const expected = linesOf(stems)
    const wrong = linesOf(words).flatMap((word, i) =>
      stem(word) === expected[i] ? [] : [`${word}: ${stem(word)}, not ${expected[i]!}`],
    )
    console.log(
      `${language}: ${wrong.length} of ${expected.length} words differ ${wrong.slice(0, 10).join('; ')}`,
    )
    expect(expected.length).toBeGreaterThan(20_000)
    expect(wrong.length).toBeLessThanOrEqual(most)
  })
})

/** From the vocabularies that Snowball publishes for these languages; Arabic and Tamil, worked out by its rules. */
const samples: Readonly<Record<Exclude<Language, keyof typeof differing>, string>> &
  Partial<Record<Language, string>> = {
  Arabic: `المكتبات:مكتب الكتاب:كتاب والكتاب:والكتاب مدرسة:مدرس مدرستهم:مدرس يكتبون:يكتب سيكتبون:يكتب كتابها:كتاب المعلمين:معلم
    استخدام:استخدام يستخدم:استخدم بالسيارات:سيار مسلمون:مسلم وقالوا:قال أطفال:اطفال`,
  Danish: `skatte:skat glødende:glød tirrede:tirred jerikosletten:jerikoslet ugyldig:ugyld styrende:styr vognene:vogn tilvejede:tilvejed
    smerternes:smert optugter:optug anordninger:anordning visdomskilde:visdomskild mindet:mind håndpant:håndpant i':i'`,
  Dutch: 'lichamelijk:lichamelijk bomen:boom geïnd:inn innig:innig gevallen:geval schilderij:schilder',
  English: `running:run skies:sky dying:die outing:outing universe:univers university:universiti proceed:proceed succeeded:succeed
    pasted:paste organization:organiz yearly:year boyish:boyish 'tis:tis dogs':dog`,
  Finnish: `alkamisen:alkamis bestline:bestl asiainhoitaja:asiainhoitaj hedelmäpelejä:hedelmäpel hyväksymissä:hyväksym episodin:episod
    heiveröisen:heiveröis arvoksi:arvo epäolennaiseen:epäolennais aidassa:aida ekologisen:ekologis hikiset:hikis etenemistä:etenem
    cassidy:cassidy gandhin:gandh`,
  Greek: `ξεκίναγε:ξεκιν διαστολή:διαστολ απεικονίζονται:απεικονιζ δέχεται:δεχ ώσμωση:ωσμωσ ύπαρξη:υπαρξ πλείστα:πλει γενειοφόρο:γενειοφορ
    γλυκοπρωτεΐνες:γλυκοπρωτεην άλλωτε:αλλωτ έγγραφων:εγγραφ ενοικιάζονταν:ενοικιαζ εξαλείφθηκαν:εξαλειφθ κιλτ:κιλτ ΣΚΆΓΙΑ:σκα`,
  Hungarian: `büfében:büf kivágni:kivágn konvertálása:konvertálás kapukon:kap megközelítően:megközelítő méltósága:méltóság
    katalógusra:katalógus jövőnek:jövő kapitánya:kapitány könyvecskéje:könyvecské klinikán:klin akarod:akar készülékben:készüle
    kognitív:kognitív`,
  Italian: `comaschi:comasc centralizzata:centralizz domingo:doming arricchir:arricc gerardo:gerard federalè:federal tuguri:tugur
    rasentando:rasent pubblicizza:pubblicizz abbronzati:abbronz raddolcendo:raddolc satollar:satoll senonchè:senonc libertas:libertas
    l'anno:anno`,
  Norwegian: `bråthen:bråth lovbestemmelse:lovbestemm nydelig:nyd liknar:likn skygge:skygg lósane:lós godkjenner:godkjenn skyldig:skyld
    skilnadene:skilnad gangene:gang blåsingen:blåsing kapper:kapp avbrytast:avbryt lånt:lånt`,
  Portuguese: `incompatível:incompat adorei:ador perturbavam:perturb instintiva:instint garota:garot grampos:gramp procurados:procur
    acidentados:acident locação:locaçã antiquados:antiqu tratada:trat conteúdo:conteúd reproduzem:reproduz digimarc:digimarc`,
  Romanian: `culinare:culin incrucit:incruc stagii:stag oferte:ofert voioșie:voioș oxigenat:oxigen încurcăm:încurc ingerabile:inger
    statului:stat consultarea:consult personalizată:personaliz marine:marin asemănător:asemăn ingerel:ingerel`,
  Swedish: `fabriker:fabrik innehades:inneh pratar:prat verkställare:verkställ ryckningar:ryckning förunnat:förun poserande:poser
    malena:malen önskvärdt:önskvärd familjegraven:familjegrav ofruktbara:ofruktbar olycksdagen:olycksdag näsborrar:näsborr fördj:fördj`,
  Tamil: `வீடுகள்:வீடு மரங்கள்:மரங் புத்தகங்களை:புத்தகம் பள்ளியில்:பள்ளி குழந்தைகளுக்கு:குழந்தைகள் வந்தார்கள்:வ படித்தான்:படி எழுதுகிறார்:எழுது
    நாட்டின்:நாடு மக்களின்:மக் அவர்களுடன்:அவர் பாடல்கள்:பாடல் செய்கிறது:செய் தமிழில்:தமிழ்`,
  Turkish: `uzan'la:uza bahçe'ye:bahçe perspektifi:perspektif bürosundan:büro sürecede:sürece sezer'den:sezer geçmişde:geçmiş
    kontratların:kontrat ceyhanspor'a:ceyhanspor süratiyle:sürati artışından:artış bakterilerdir:bakteri oluşturduk:oluştur
    monday:monday insanlarınkine:insanlarne`,
}

test.each(Object.entries(samples) as [Language, string][])('stems of %s', (language, pairs) => {
  const stem = stemmerOf(language)
  const split = pairs.split(/\s+/).map(pair => pair.split(':') as [string, string])
  expect(split.map(([word]) => [word, stem(word)])).toEqual(split)
})

const languages: readonly Language[] = [
  ...(Object.keys(samples) as Language[]),
  'French',
  'German',
  'Russian',
  'Spanish',
]

test('there is a stemmer for each language', () => expect(new Set(languages).size).toBe(18))

/** Halves of surrogate pairs too. */
const anyText = fc.array(fc.nat(0xffff)).map(units => String.fromCharCode(...units))

test.each(languages)('any string has a stem: %s', language => {
  const stem = stemmerOf(language)
  const pieces = fc.constantFrom(
    ...(samples[language] ?? "l'été straße ещё años ue y Y ij ge ' ß").split(/[\s:]+/),
    ...'aeiouyéïλαनா',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        anyText,
        fc.array(pieces).map(some => some.join('')),
      ),
      word => {
        expect(typeof stem(word)).toBe('string')
      },
    ),
    { numRuns: 200 },
  )
  for (const odd of ['', '\ud800', '😀😀😀', '12345', 'İSTANBUL', '東京', "'''"])
    expect(typeof stem(odd)).toBe('string')
  for (const piece of ['a', 'y', "'", 'ge', 'ij', 'é', 'ue', 'lardaki', 'ий', 'هما', 'ா', 'icatori']) {
    const long = piece.repeat(10_000)
    expect(stem(long)).toBe(long)
    expect(stem(long.slice(0, 250)).length).toBeLessThanOrEqual(500)
  }
})

function linesOf(path: string): string[] {
  return gunzipSync(readFileSync(path)).toString('utf8').trimEnd().split('\n')
}
