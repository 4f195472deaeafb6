/**
 * Provides ASCII folding with the same results as Lucene's ASCIIFoldingFilter, which tantivy and Lance also use. Latin
 * letters, digits and punctuation become ASCII. Characters of other scripts stay unchanged. This includes letters with
 * marks (й, が), which a Unicode decomposition would divide into letters and marks.
 */

/** The version of the folding. Change it whenever the folding of a character changes. */
export const foldIdentity = 'fold/1'

/** Pairs of a replacement and the characters that it replaces. All characters are in the basic multilingual plane. */
const table = String.raw`
  A ÀÁÂÃÄÅĀĂĄƏǍǞǠǺȀȂȦȺᴀḀẠẢẤẦẨẪẬẮẰẲẴẶⒶＡ  B ƁƂɃʙᴃḂḄḆⒷＢ  C ÇĆĈĊČƇȻʗᴄḈⒸＣ  D ÐĎĐƉƊƋᴅᴆḊḌḎḐḒⒹꝹＤ
  E ÈÉÊËĒĔĖĘĚƎƐȄȆȨɆᴇḔḖḘḚḜẸẺẼẾỀỂỄỆⒺⱻＥ  F ƑḞⒻꜰꝻꟻＦ  G ĜĞĠĢƓǤǥǦǧǴɢʛḠⒼꝽꝾＧ  H ĤĦȞʜḢḤḦḨḪⒽⱧⱵＨ  I ÌÍÎÏĨĪĬĮİƖƗǏȈȊɪᵻḬḮỈỊⒾꟾＩ  J ĴɈᴊⒿＪ
  K ĶƘǨᴋḰḲḴⓀⱩꝀꝂꝄＫ  L ĹĻĽĿŁȽʟᴌḶḸḺḼⓁⱠⱢꝆꝈꞀＬ  M ƜᴍḾṀṂⓂⱮꟽꟿＭ  N ÑŃŅŇŊƝǸȠɴᴎṄṆṈṊⓃＮ  O ÒÓÔÕÖØŌŎŐƆƟƠǑǪǬǾȌȎȪȬȮȰᴏᴐṌṎṐṒỌỎỐỒỔỖỘỚỜỞỠỢⓄꝊꝌＯ
  P ƤᴘṔṖⓅⱣꝐꝒꝔＰ  Q ɊⓆꝖꝘＱ  R ŔŖŘȐȒɌʀʁᴙᴚṘṚṜṞⓇⱤꝚꞂＲ  S ŚŜŞŠȘṠṢṤṦṨⓈꜱꞅＳ  T ŢŤŦƬƮȚȾᴛṪṬṮṰⓉꞆＴ  U ÙÚÛÜŨŪŬŮŰŲƯǓǕǗǙǛȔȖɄᴜᵾṲṴṶṸṺỤỦỨỪỬỮỰⓊＵ
  V ƲɅᴠṼṾỼⓋꝞꝨＶ  W ŴǷᴡẀẂẄẆẈⓌⱲＷ  X ẊẌⓍＸ  Y ÝŶŸƳȲɎʏẎỲỴỶỸỾⓎＹ  Z ŹŻŽƵȜȤᴢẐẒẔⓏⱫꝢＺ  a àáâãäåāăąǎǟǡǻȁȃȧɐəɚᶏᶕḁẚạảấầẩẫậắằẳẵặₐₔⓐⱥⱯａ
  b ƀƃɓᵬᶀḃḅḇⓑｂ  c çćĉċčƈȼɕḉↄⓒꜾꜿｃ  d ðďđƌȡɖɗᵭᶁᶑḋḍḏḑḓⓓꝺｄ  e èéêëēĕėęěǝȅȇȩɇɘɛɜɝɞʚᴈᶒᶓᶔḕḗḙḛḝẹẻẽếềểễệₑⓔⱸｅ  f ƒᵮᶂḟẛⓕꝼｆ
  g ĝğġģǵɠɡᵷᵹᶃḡⓖꝿｇ  h ĥħȟɥɦʮʯḣḥḧḩḫẖⓗⱨⱶｈ  i ìíîïĩīĭįıǐȉȋɨᴉᵢᵼᶖḭḯỉịⁱⓘｉ  j ĵǰȷɉɟʄʝⓙⱼｊ  k ķƙǩʞᶄḱḳḵⓚⱪꝁꝃꝅｋ
  l ĺļľŀłƚȴɫɬɭᶅḷḹḻḽⓛⱡꝇꝉꞁｌ  m ɯɰɱᵯᶆḿṁṃⓜｍ  n ñńņňŉŋƞǹȵɲɳᵰᶇṅṇṉṋⁿⓝｎ  o òóôõöøōŏőơǒǫǭǿȍȏȫȭȯȱɔɵᴖᴗᶗṍṏṑṓọỏốồổỗộớờởỡợₒⓞⱺꝋꝍｏ
  p ƥᵱᵽᶈṕṗⓟꝑꝓꝕꟼｐ  q ĸɋʠⓠꝗꝙｑ  r ŕŗřȑȓɍɼɽɾɿᵣᵲᵳᶉṙṛṝṟⓡꝛꞃｒ  s śŝşšſșȿʂᵴᶊṡṣṥṧṩẜẝⓢꞄｓ  t ţťŧƫƭțȶʇʈᵵṫṭṯṱẗⓣⱦｔ
  u ùúûüũūŭůűųưǔǖǘǚǜȕȗʉᵤᶙṳṵṷṹṻụủứừửữựⓤｕ  v ʋʌᵥᶌṽṿⓥⱱⱴꝟｖ  w ŵƿʍẁẃẅẇẉẘⓦⱳｗ  x ᶍẋẍₓⓧｘ  y ýÿŷƴȳɏʎẏẙỳỵỷỹỿⓨｙ  z źżžƶȝȥɀʐʑᵶᶎẑẓẕⓩⱬꝣｚ
  AA Ꜳ  AE ÆǢǼᴁ  AO Ꜵ  AU Ꜷ  AV ꜸꜺ  AY Ꜽ  DZ ǄǱ  Dz ǅǲ  HV Ƕ  IJ Ĳ  LJ Ǉ  LL Ỻ  Lj ǈ  NJ Ǌ  Nj ǋ  OE Œɶ  OO Ꝏ  OU Ȣᴕ  SS ẞ
  TH ÞꝦ  TZ Ꜩ  VY Ꝡ  aa ꜳ  ae æǣǽᴂ  ao ꜵ  au ꜷ  av ꜹꜻ  ay ꜽ  db ȸ  dz ǆǳʣʥ  ff ﬀ  fi ﬁ  fl ﬂ  hv ƕ  ij ĳ  lj ǉ  ll ỻ  ls ʪ
  lz ʫ  nj ǌ  oe œᴔ  oo ꝏ  ou ȣ  qp ȹ  ss ß  st ﬆ  tc ʨ  th þᵺꝧ  ts ʦ  tz ꜩ  ue ᵫ  vy ꝡ  ffi ﬃ  ffl ﬄ  ! ！  " «»“”„″‶❝❞❮❯＂
  # ＃  $ ＄  % ⁒％  & ＆  ' ‘’‚‛′‵‹›❛❜＇  ( ⁽₍❨❪（  ) ⁾₎❩❫）  * ⁎＊  + ⁺₊＋  , ，  - ‐‑‒–—⁻₋－  . ．  / ⁄／  0 ⁰₀⓪⓿０  1 ¹₁①⓵❶➀➊１
  2 ²₂②⓶❷➁➋２  3 ³₃③⓷❸➂➌３  4 ⁴₄④⓸❹➃➍４  5 ⁵₅⑤⓹❺➄➎５  6 ⁶₆⑥⓺❻➅➏６  7 ⁷₇⑦⓻❼➆➐７  8 ⁸₈⑧⓼❽➇➑８  9 ⁹₉⑨⓽❾➈➒９  : ：  ; ⁏；  < ❬❰＜  = ⁼₌＝
  > ❭❱＞  ? ？  @ ＠  [ ⁅❲［  \ ＼  ] ⁆❳］  ^ ‸＾  _ ＿  { ❴｛  } ❵｝  ~ ⁓～  !! ‼  !? ⁉  (( ⸨  )) ⸩  1. ⒈  10 ⑩⓾❿➉➓  11 ⑪⓫  12 ⑫⓬
  13 ⑬⓭  14 ⑭⓮  15 ⑮⓯  16 ⑯⓰  17 ⑰⓱  18 ⑱⓲  19 ⑲⓳  2. ⒉  20 ⑳⓴  3. ⒊  4. ⒋  5. ⒌  6. ⒍  7. ⒎  8. ⒏  9. ⒐  ?! ⁈  ?? ⁇
  (1) ⑴  (2) ⑵  (3) ⑶  (4) ⑷  (5) ⑸  (6) ⑹  (7) ⑺  (8) ⑻  (9) ⑼  (a) ⒜  (b) ⒝  (c) ⒞  (d) ⒟  (e) ⒠  (f) ⒡  (g) ⒢  (h) ⒣
  (i) ⒤  (j) ⒥  (k) ⒦  (l) ⒧  (m) ⒨  (n) ⒩  (o) ⒪  (p) ⒫  (q) ⒬  (r) ⒭  (s) ⒮  (t) ⒯  (u) ⒰  (v) ⒱  (w) ⒲  (x) ⒳  (y) ⒴
  (z) ⒵  10. ⒑  11. ⒒  12. ⒓  13. ⒔  14. ⒕  15. ⒖  16. ⒗  17. ⒘  18. ⒙  19. ⒚  20. ⒛  (10) ⑽  (11) ⑾  (12) ⑿  (13) ⒀
  (14) ⒁  (15) ⒂  (16) ⒃  (17) ⒄  (18) ⒅  (19) ⒆  (20) ⒇
`

/** The replacements, by the high byte and then by the low byte of the character. */
type Pages = readonly (readonly (string | undefined)[] | undefined)[]

let pages: Pages | undefined

/** Fold a text. Return the same string if nothing changes. One character may become up to four characters. */
export function asciiFolded(text: string): string {
  let at = firstBeyondAscii(text)
  if (at === text.length) return text
  pages ??= pagesOf(table)
  let folded = ''
  let copied = 0
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code < 0x80) continue
    const ascii = pages[code >> 8]?.[code & 255]
    if (ascii === undefined) continue
    folded += text.slice(copied, at) + ascii
    copied = at + 1
  }
  return copied === 0 ? text : folded + text.slice(copied)
}

function firstBeyondAscii(text: string): number {
  let at = 0
  while (at < text.length && text.charCodeAt(at) < 0x80) at += 1
  return at
}

function pagesOf(pairs: string): Pages {
  const result: (string | undefined)[][] = []
  const words = pairs.trim().split(/\s+/)
  for (let i = 0; i < words.length; i += 2)
    for (const character of words[i + 1]!) {
      const code = character.charCodeAt(0)
      result[code >> 8] ??= new Array<string | undefined>(256).fill(undefined)
      result[code >> 8]![code & 255] = words[i]!
    }
  return result
}
