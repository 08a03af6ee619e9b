/// The language of a track in `mdhd`: three letters of ISO 639-2/T in 15 bits (ISO/IEC 14496-12 §8.4.2).
package enum LanguageCode {
    /// Three letters for a BCP 47 tag such as `de`, `pt-BR` or `deu`; `und` for a tag that has none.
    package static func letters(_ tag: String) -> String {
        let primary = tag.prefix { $0 != "-" && $0 != "_" }.lowercased()
        let letters = primary.utf8.count == 3 ? primary : threeLetters[primary] ?? "und"
        return letters.utf8.allSatisfy { (0x61...0x7a).contains($0) } ? letters : "und"
    }

    /// The letters of a tag in 15 bits.
    static func packed(_ tag: String) -> UInt16 { letters(tag).utf8.reduce(0) { $0 << 5 | UInt16($1 - 0x60) } }

    private static let threeLetters: [String: String] = {
        let words = table.split(separator: " ")
        return Dictionary(words.map { (String($0.prefix(2)), String($0.dropFirst(2))) }) { first, _ in first }
    }()

    /// ISO 639-1 and the same language in ISO 639-2/T.
    private static let table = """
        aaaar ababk aeave afafr akaka amamh anarg arara asasm avava ayaym azaze babak bebel bgbul bhbih bibis bmbam \
        bnben bobod brbre bsbos cacat cecha chcha cocos crcre csces cuchu cvchv cycym dadan dedeu dvdiv dzdzo eeewe \
        elell eneng eoepo esspa etest eueus fafas ffful fifin fjfij fofao frfra fyfry gagle gdgla glglg gngrn guguj \
        gvglv hahau heheb hihin hohmo hrhrv hthat huhun hyhye hzher iaina idind ieile igibo iiiii ikipk ioido isisl \
        itita iuiku iwheb jajpn jvjav kakat kgkon kikik kjkua kkkaz klkal kmkhm knkan kokor krkau kskas kukur kvkom \
        kwcor kykir lalat lbltz lglug lilim lnlin lolao ltlit lulub lvlav mgmlg mhmah mimri mkmkd mlmal mnmon mrmar \
        msmsa mtmlt mymya nanau nbnob ndnde nenep ngndo nlnld nnnno nonor nrnbl nvnav nynya ococi ojoji omorm orori \
        ososs papan pipli plpol pspus ptpor quque rmroh rnrun roron rurus rwkin sasan scsrd sdsnd sesme sgsag sisin \
        skslk slslv smsmo snsna sosom sqsqi srsrp ssssw stsot susun svswe swswa tatam tetel tgtgk ththa titir tktuk \
        tltgl tntsn toton trtur tstso tttat twtwi tytah uguig ukukr ururd uzuzb veven vivie vovol wawln wowol xhxho \
        yiyid yoyor zazha zhzho zuzul
        """
}
