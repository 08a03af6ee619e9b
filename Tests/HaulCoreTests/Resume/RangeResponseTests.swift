import Testing

@testable import HaulCore

struct RangeResponseTests {
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let otherDate = "Sun, 06 Nov 1994 08:49:38 GMT"

    func known(tag: String? = nil, date: String? = nil, total: Int64? = 100_000) -> Resource {
        var known = Resource(
            total: total,
            validator: Validator(entityTag: tag.flatMap { EntityTag($0) }, lastModified: date)
        )
        known.contentType = "application/octet-stream"
        return known
    }

    func ask(
        _ known: Resource,
        at offset: Int64 = 50_000,
        isPlain: Bool = false,
        isReplaced: Bool = false,
        isCompared: Bool = true
    ) -> RangeRequest {
        var question = RangeRequest.resuming(
            known,
            at: offset,
            resumesUnverified: true,
            isPlain: isPlain,
            JoinTerms(source: isReplaced ? .otherURL : .sameURL)
        )
        question.isCompared = isCompared
        return question
    }

    func known(strongDate date: String) -> Resource {
        var known = known(date: date)
        known.validator.lastModifiedIsStrong = true
        return known
    }

    func part(_ range: String, _ more: KeyValuePairs<String, String> = [:]) -> ResponseHead {
        var head = ResponseHead.answer(206, more)
        head.headers.add(name: "Content-Range", value: range)
        return head
    }

    // MARK: The whole file

    @Test(arguments: [200, 203])
    func takesTheFirstAnswerFromByteZero(_ status: Int) {
        let head = ResponseHead.answer(status, ["Content-Length": "5", "ETag": "\"a\""])
        #expect(RangeResponse.judge(head, to: .whole) == .accept(Resource(whole: head), at: 0, compare: 0))
    }

    /// A film has no length before its end, so that of another source is told apart by where its answer begins.
    @Test(arguments: [true, false]) func beginsALogAnewWithoutDoubtingRanges(_ isFromOtherSource: Bool) {
        var head = ResponseHead.answer(200, ["Transfer-Encoding": "chunked", "ETag": "\"film\""])
        head.isStreamLog = true
        var log = known(tag: "\"film\"", total: nil)
        log.stream = .log
        let answer = RangeResponse.judge(head, to: ask(log, isReplaced: isFromOtherSource))
        #expect(answer == .restart(Resource(whole: head), nil))
    }

    @Test func neverWritesAWholeAnswerInTheMiddle() {
        let wholes: [KeyValuePairs<String, String>] = [
            ["Content-Length": "100000", "ETag": "\"a\""], ["Content-Length": "100000"], ["ETag": "\"b\""], [:],
            ["Content-Length": "50000", "ETag": "\"a\""],
            ["Content-Range": "bytes 50000-99999/100000", "ETag": "\"a\""],
        ]
        for fields in wholes {
            for isPlain in [false, true] {
                let answer = RangeResponse.judge(.answer(200, fields), to: ask(known(tag: "\"a\""), isPlain: isPlain))
                if case .accept = answer { Issue.record("\(fields) \(isPlain)") }
            }
        }
    }

    @Test func asksWithoutTheConditionWhenTheSameVersionComesWhole() {
        let head = ResponseHead.answer(200, ["Content-Length": "100000", "ETag": "\"a\""])
        #expect(RangeResponse.judge(head, to: ask(known(tag: "\"a\""))) == .askWithoutCondition)
        guard
            case .restart(let resource, .noUsableRange) = RangeResponse.judge(
                head,
                to: ask(known(tag: "\"a\""), isPlain: true)
            )
        else {
            Issue.record("no restart")
            return
        }
        #expect(!resource.hasUsableRanges)
    }

    @Test(arguments: [
        ["ETag": "\"b\"", "Content-Length": "100000"], ["ETag": "\"b\"", "Content-Length": "99999"],
        ["ETag": "W/\"b\""], ["Content-Length": "5"], ["Last-Modified": otherDate],
    ])
    func restartsWhenAnotherVersionComesWhole(_ fields: [String: String]) {
        var head = ResponseHead.answer(200)
        for (name, value) in fields { head.headers.add(name: name, value: value) }
        let answer = RangeResponse.judge(head, to: ask(known(tag: "\"a\"", date: Self.date)))
        guard case .restart(let resource, .changed) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(resource == Resource(whole: head))
    }

    @Test func restartsWhenTheServerAnswers200ToARange() {
        let head = ResponseHead.answer(200, ["Content-Length": "100000", "Last-Modified": Self.date])
        guard case .restart(let resource, .noUsableRange) = RangeResponse.judge(head, to: ask(known(date: Self.date)))
        else {
            Issue.record("no restart")
            return
        }
        #expect(!resource.hasUsableRanges)
    }

    @Test func keepsRangesInUseWhenTheOverlapReachedBackToTheStart() {
        // The request has no `Range`, so a whole answer is no refusal of ranges.
        let head = ResponseHead.answer(200, ["Content-Length": "100000", "Last-Modified": Self.date])
        let question = ask(known(date: Self.date), at: 300)
        #expect(question.first == 0)
        #expect(RangeResponse.judge(head, to: question) == .restart(Resource(whole: head), nil))
    }

    @Test(arguments: [
        // Only the rest of the file, by `Content-Range`, by its length, or by the known length of the tag.
        ["Content-Range": "bytes 50000-99999/100000", "ETag": "\"a\""],
        ["Content-Range": "bytes 50000-99999/100000", "ETag": "\"b\""], ["Content-Range": "bytes 50000-99999/*"],
        ["Content-Length": "50000", "ETag": "\"a\""], ["Content-Length": "50000"],
        ["Content-Length": "50000", "ETag": "\"b\""], ["Content-Length": "99999", "ETag": "\"a\""],
        ["Content-Length": "100001", "ETag": "\"a\""], ["Content-Range": "bytes", "Content-Length": "100000"],
    ])
    func dropsNothingForAWholeAnswerThatMayBeAPart(_ fields: [String: String]) {
        var head = ResponseHead.answer(200)
        for (name, value) in fields { head.headers.add(name: name, value: value) }
        for isPlain in [false, true] {
            let answer = RangeResponse.judge(head, to: ask(known(tag: "\"a\""), isPlain: isPlain))
            #expect(answer == .startOver(.noUsableRange), "\(fields)")
        }
    }

    @Test func dropsNothingForAnotherLengthUnderTheSameWeakName() {
        let head = ResponseHead.answer(200, ["Content-Length": "70000", "ETag": "W/\"a\""])
        #expect(RangeResponse.judge(head, to: ask(known(tag: "W/\"a\""))) == .startOver(.changed))
        // The rest of the file, in answer to a request for one block.
        let rest = ResponseHead.answer(200, ["Content-Length": "80000", "ETag": "W/\"a\""])
        let block = RangeRequest.comparing(20_000..<30_000, before: ask(known(tag: "W/\"a\"")))
        #expect(RangeResponse.judge(rest, to: block) == .startOver(.noUsableRange))
    }

    /// A version has one length, so the end of a shorter body is a broken connection.
    @Test(arguments: [
        ("\"a\"" as String?, 100_000 as Int64?), ("\"b\"", nil), ("W/\"a\"", 100_000), ("W/\"b\"", nil), (nil, nil),
    ])
    func keepsTheLengthThatAnEarlierAnswerOfTheVersionHadNamed(_ tag: String?, _ length: Int64?) {
        let head = tag.map { ResponseHead.answer(200, ["ETag": $0]) } ?? .answer(200)
        let answer = RangeResponse.judge(head, to: .whole, after: known(tag: "\"a\""))
        guard case .accept(let resource, at: 0, compare: 0) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(resource.total == length && resource.isFramed == (length != nil))
    }

    @Test func doesNotKeepALengthAtWhichAnEarlierConnectionEnded() {
        var ended = known(tag: "\"a\"")
        ended.isFramed = false
        let answer = RangeResponse.judge(.answer(200, ["ETag": "\"a\""]), to: .whole, after: ended)
        guard case .accept(let resource, at: 0, compare: 0) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(resource.total == nil && !resource.isFramed)
    }

    /// Chunks say themselves where the body ends.
    @Test func takesTheLengthOfChunksFromTheChunks() {
        let head = ResponseHead.answer(200, ["ETag": "W/\"a\"", "Transfer-Encoding": "chunked"])
        guard case .accept(let resource, at: 0, compare: 0) = RangeResponse.judge(head, to: .whole, after: known())
        else {
            Issue.record("it is not accepted")
            return
        }
        #expect(resource.total == nil && resource.isFramed)
    }

    @Test func asksPlainlyForTheWholeBeforeItTakesAWholeAnswerWithoutALength() {
        let head = ResponseHead.answer(200, ["ETag": "\"a\"", "Transfer-Encoding": "chunked"])
        #expect(RangeResponse.judge(head, to: ask(known(tag: "\"a\""))) == .askWithoutCondition)
        #expect(RangeResponse.judge(head, to: ask(known(tag: "\"a\""), isPlain: true)) == .startOver(.noUsableRange))
    }

    @Test(arguments: [
        ("bytes 40-99/100", "60", false), ("bytes 0-59/100", "60", false), ("bytes 0-99/100", "60", false),
        ("bytes */100", "60", false), ("bytes 0-99/100", "100", true), ("bytes 0-99/*", "100", true),
        ("bytes */100", "100", true), ("nonsense", "100", true),
    ])
    func takesAWholeAnswerWithARangeOnlyIfItIsTheWhole(_ range: String, _ length: String, _ isWhole: Bool) {
        let head = ResponseHead.answer(200, ["Content-Range": range, "Content-Length": length])
        switch RangeResponse.judge(head, to: .whole) {
        case .accept(_, at: 0, compare: 0): #expect(isWhole, "\(range)")
        case .refuse(.malformed): #expect(!isWhole, "\(range)")
        case let answer: Issue.record("\(answer)")
        }
    }

    // MARK: 416 and 412

    @Test func takes416AsTheEndOnlyIfEverythingAgrees() {
        let open = ask(known(tag: "\"a\"", total: nil))
        var complete = known(tag: "\"a\"", total: nil)
        complete.total = 50_000
        let end: KeyValuePairs = ["Content-Range": "bytes */50000", "ETag": "\"a\""]
        #expect(RangeResponse.judge(.answer(416, end), to: open) == .alreadyComplete(complete))
        // The file that ends here may be another version. A request without a condition gets the last bytes with their
        // tag.
        let unnamed = ResponseHead.answer(416, ["Content-Range": "bytes */50000"])
        #expect(RangeResponse.judge(unnamed, to: open) == .askWithoutCondition)
        #expect(ask(known(tag: "\"a\"", total: nil), isPlain: true).first == 50_000 - RangeRequest.overlapLength)
        var provable = open
        provable.terms.hasDigest = true
        #expect(RangeResponse.judge(unnamed, to: provable) == .alreadyComplete(complete))
        let changed: [(RangeRequest, KeyValuePairs<String, String>)] = [
            (open, ["Content-Range": "bytes */50000", "ETag": "\"b\""]), (open, ["Content-Range": "bytes */49999"]),
            (open, ["Content-Range": "bytes */50001"]), (ask(known(tag: "\"a\"")), end),
            (ask(known(date: Self.date, total: nil)), ["Content-Range": "bytes */50000"]),
        ]
        for (question, fields) in changed {
            #expect(RangeResponse.judge(.answer(416, fields), to: question) == .startOver(.changed), "\(fields)")
        }
        for fields in [[:], ["Content-Range": "bytes */*"], ["Content-Range": "50000"]]
            as [KeyValuePairs<String, String>]
        {
            #expect(RangeResponse.judge(.answer(416, fields), to: open) == .startOver(.noUsableRange))
        }
    }

    @Test func takes416And412AsRefusalsWhereNoRangeWasAsked() {
        for status in [412, 416] {
            #expect(RangeResponse.judge(.answer(status), to: .whole) == .refuse(.status(status)))
        }
        #expect(RangeResponse.judge(.answer(412), to: ask(known(tag: "\"a\""))) == .startOver(.changed))
    }

    @Test(arguments: [100, 201, 202, 204, 205, 207, 226, 300, 304, 400, 404, 500, 503, 999, -1])
    func refusesEveryOtherStatus(_ status: Int) {
        let head = ResponseHead.answer(status, ["Retry-After": "7", "Content-Range": "bytes 50000-99999/100000"])
        for question in [.whole, ask(known(tag: "\"a\""))] {
            #expect(RangeResponse.judge(head, to: question) == .refuse(.status(status)))
        }
    }

    // MARK: Login pages

    @Test func doesNotTakeAPortalsPageForTheFile() {
        let page = ResponseHead.answer(200, ["Content-Type": "text/html; charset=utf-8", "Content-Length": "900"])
        #expect(RangeResponse.judge(page, to: ask(known(tag: "\"a\""))) == .refuse(.webPage))
        let first = ResponseHead.answer(200, ["Content-Type": "TEXT/HTML"], from: "https://portal.example/login")
        #expect(RangeResponse.judge(first, to: .whole) == .refuse(.webPage))
    }

    /// Foundation returns no last path component that is not UTF-8.
    @Test func tellsNamesApartThatAreNoText() {
        let page = ["Content-Type": "text/html"] as KeyValuePairs
        let (asked, login) = ("https://h/caf%E9.zip", "https://h/b%E9/login%FF")
        #expect(
            RangeResponse.judge(.answer(200, page, from: login, asked: asked), to: .whole) == .refuse(.webPage)
        )
        let elsewhere = ResponseHead.answer(200, page, from: "https://m.example/x/caf%e9.zip", asked: asked)
        guard case .accept = RangeResponse.judge(elsewhere, to: .whole) else {
            Issue.record("refused")
            return
        }
    }

    @Test(arguments: [
        ("https://h/page.html", "https://h/login"), ("https://h/", "https://h/index.html"),
        ("https://h/a.iso", "https://mirror.example/pub/a.iso"), ("https://h/a.iso", "https://h/a.iso"),
    ])
    func takesAPageThatMayBeMeant(_ asked: String, _ answered: String) {
        let head = ResponseHead.answer(200, ["Content-Type": "text/html"], from: answered, asked: asked)
        guard case .accept = RangeResponse.judge(head, to: .whole) else {
            Issue.record("refused")
            return
        }
    }
}
