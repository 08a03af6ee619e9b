import Testing

@testable import HaulCore

struct RangeRequestTests {
    private static let strong = Validator(entityTag: EntityTag("\"a\""))
    private static let weak = Validator(entityTag: EntityTag("W/\"a\""))
    private static let strongDate = Validator(lastModified: date, lastModifiedIsStrong: true)
    private static let weakDate = Validator(lastModified: date)
    private static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    private static let overlap = RangeRequest.overlapLength

    private func question(
        _ validator: Validator,
        at offset: Int64 = 1_000_000,
        unverified: Bool = false,
        isPlain: Bool = false,
        isReplaced: Bool = false,
        _ change: (inout Resource) -> Void = { _ in }
    ) -> RangeRequest {
        var resource = Resource(total: 2_000_000, validator: validator)
        change(&resource)
        return .resuming(
            resource,
            at: offset,
            resumesUnverified: unverified,
            isPlain: isPlain,
            JoinTerms(source: isReplaced ? .otherURL : .sameURL)
        )
    }

    @Test func trustsAStrongTagWithoutComparingBytes() {
        let asked = question(Self.strong)
        #expect(asked.condition == .ifRange("\"a\"") && asked.overlap == 0 && asked.first == 1_000_000)
    }

    @Test func sendsTheTagVerbatim() throws {
        let odd = Validator(entityTag: EntityTag("\"!#é/W\""))
        #expect(question(odd).condition == .ifRange("\"!#é/W\""))
    }

    @Test func neverSendsAWeakTag() {
        let both = Validator(entityTag: EntityTag("W/\"a\""), lastModified: Self.date, lastModifiedIsStrong: true)
        for validator in [Self.weak, both] {
            let asked = question(validator)
            #expect(asked.condition == .none && asked.overlap == Self.overlap)
        }
    }

    @Test func sendsADateOnlyIfItIsStrongAndThereIsNoTag() {
        #expect(question(Self.strongDate).condition == .ifRange(Self.date))
        #expect(question(Self.strongDate).overlap == Self.overlap)
        #expect(question(Self.weakDate).condition == .none)
        #expect(question(Self.weakDate).overlap == Self.overlap)
        let both = Validator(entityTag: EntityTag("\"a\""), lastModified: Self.date, lastModifiedIsStrong: true)
        #expect(question(both).condition == .ifRange("\"a\""))
    }

    @Test func resumesWithoutAnyValidatorOnlyIfAllowed() {
        #expect(question(Validator()) == .whole)
        let asked = question(Validator(), unverified: true)
        #expect(asked.condition == .none && asked.overlap == Self.overlap && asked.goesOn)
    }

    @Test(arguments: [1, 100, 16_383, 16_384, 16_385] as [Int64])
    func neverReachesBackBeyondTheFirstByte(_ offset: Int64) {
        let asked = question(Self.weak, at: offset)
        #expect(asked.first == max(0, offset - Self.overlap) && asked.offset == offset)
    }

    @Test func asksForTheWholeWhereRangesAreOfNoUse() {
        #expect(question(Self.strong, at: 0) == .whole)
        #expect(question(Self.strong) { $0.hasUsableRanges = false } == .whole)
        #expect(question(Self.strong) { $0.contentCoding = "gzip" } == .whole)
        #expect(!RangeRequest.whole.goesOn && RangeRequest.whole.first == 0)
    }

    @Test func dropsTheConditionWhenToldTo() {
        for validator in [Self.strong, Self.strongDate] {
            let asked = question(validator, isPlain: true)
            #expect(asked.condition == .none && asked.goesOn)
        }
    }

    @Test func comparesBytesWithAnotherSourceWhateverItsTag() {
        let asked = question(Self.strong, isReplaced: true)
        #expect(asked.condition == .none && asked.overlap == Self.overlap && asked.terms.source == .otherURL)
        #expect(question(Validator(), isReplaced: true) == .whole)
        #expect(question(Validator(), unverified: true, isReplaced: true).overlap == Self.overlap)
    }
}
