import Testing

@testable import HaulCore

/// Answers with status 206.
extension RangeResponseTests {
    @Test func takesThePartThatWasAskedFor() {
        let known = known(tag: "\"a\"")
        let head = part("bytes 50000-99999/100000", ["ETag": "\"a\"", "Content-Length": "50000"])
        #expect(RangeResponse.judge(head, to: ask(known)) == .accept(known, at: 50_000, compare: 0))
        #expect(RangeResponse.judge(head, to: ask(known, isPlain: true)) == .accept(known, at: 50_000, compare: 0))
    }

    @Test(arguments: [
        "bytes 50000-50099/100000", "bytes 50000-99999/*", "bytes=50000-99999/100000", "50000-99999/100000",
    ])
    func takesLessThanAskedAndSloppyWriting(_ range: String) {
        let known = known(tag: "\"a\"")
        var framed = known
        framed.isFramed = false
        #expect(
            RangeResponse.judge(part(range, ["ETag": "\"a\""]), to: ask(known))
                == .accept(framed, at: 50_000, compare: 0)
        )
    }

    @Test(arguments: [
        "bytes 0-99999/100000", "bytes 49999-99999/100000", "bytes 50001-99999/100000", "bytes 50000-49999/100000",
        "bytes 50000-100000/100000", "items 50000-99999/100000", "bytes */100000", "", "bytes 50000-", "none",
        "bytes 50000-99999/100000, bytes 0-1/100000",
    ])
    func startsOverOnAnotherRange(_ range: String) {
        #expect(
            RangeResponse.judge(part(range, ["ETag": "\"a\""]), to: ask(known(tag: "\"a\"")))
                == .startOver(.noUsableRange)
        )
    }

    @Test func startsOverWithoutExactlyOneContentRange() {
        let question = ask(known(tag: "\"a\""))
        #expect(RangeResponse.judge(.answer(206, ["ETag": "\"a\""]), to: question) == .startOver(.noUsableRange))
        let twice = part("bytes 50000-99999/100000", ["Content-Range": "bytes 50000-99999/100000", "ETag": "\"a\""])
        #expect(RangeResponse.judge(twice, to: question) == .startOver(.noUsableRange))
    }

    @Test func startsOverWhenTheLengthContradictsTheRange() {
        let head = part("bytes 50000-99999/100000", ["ETag": "\"a\"", "Content-Length": "49999"])
        #expect(RangeResponse.judge(head, to: ask(known(tag: "\"a\""))) == .startOver(.noUsableRange))
    }

    @Test(arguments: ["gzip", "GZIP", "identity, br", "x-unknown"])
    func neverJoinsCodedBytes(_ coding: String) {
        let head = part("bytes 50000-99999/100000", ["ETag": "\"a\"", "Content-Encoding": coding])
        #expect(RangeResponse.judge(head, to: ask(known(tag: "\"a\""))) == .startOver(.noUsableRange))
    }

    @Test(arguments: ["multipart/byteranges; boundary=x", "Multipart/ByteRanges", "multipart/byteranges ;boundary=x"])
    func neverTakesSeveralPartsForOne(_ type: String) {
        let head = part("bytes 50000-99999/100000", ["ETag": "\"a\"", "Content-Type": type])
        #expect(RangeResponse.judge(head, to: ask(known(tag: "\"a\""))) == .startOver(.noUsableRange))
    }

    @Test(arguments: ["bytes 50000-99999/100001", "bytes 50000-100000/*", "bytes 50000-60000/60001"])
    func noticesAnotherTotal(_ range: String) {
        #expect(
            RangeResponse.judge(part(range, ["ETag": "\"a\""]), to: ask(known(tag: "\"a\""))) == .startOver(.changed)
        )
    }

    @Test(arguments: [["ETag": "\"b\""], ["ETag": "W/\"b\""], ["Last-Modified": otherDate]])
    func noticesAnotherVersionInAPart(_ fields: [String: String]) {
        for known in [known(tag: "\"a\"", date: Self.date), known(tag: "W/\"a\"", date: Self.date)] {
            for isPlain in [false, true] {
                let question = ask(known, isPlain: isPlain)
                var head = part("bytes \(question.first)-99999/100000")
                for (name, value) in fields { head.headers.add(name: name, value: value) }
                #expect(RangeResponse.judge(head, to: question) == .startOver(.changed))
            }
        }
    }

    @Test(arguments: [[:], ["ETag": "W/\"a\""], ["Last-Modified": date]])
    func joinsNothingToAStrongTagThatTheAnswerDoesNotRepeat(_ fields: [String: String]) {
        let known = known(tag: "\"a\"", date: Self.date)
        var head = part("bytes 50000-99999/100000", ["Content-Length": "50000"])
        for (name, value) in fields { head.headers.add(name: name, value: value) }
        #expect(RangeResponse.judge(head, to: ask(known)) == .askWithoutCondition)
        #expect(RangeResponse.judge(head, to: ask(known, isPlain: true)) == .startOver(.noUsableRange))
    }

    @Test func joinsNothingToAStrongDateThatTheAnswerDoesNotRepeat() {
        let known = known(strongDate: Self.date)
        let head = part("bytes 33616-99999/100000")
        #expect(RangeResponse.judge(head, to: ask(known)) == .askWithoutCondition)
        #expect(RangeResponse.judge(head, to: ask(known, isPlain: true)) == .startOver(.noUsableRange))
        let dated = part("bytes 33616-99999/100000", ["Last-Modified": Self.date])
        for isPlain in [false, true] {
            let question = ask(known, isPlain: isPlain, isCompared: false)
            guard
                case .accept(_, at: 50_000, compare: RangeRequest.overlapLength) = RangeResponse.judge(
                    dated,
                    to: question
                )
            else {
                Issue.record("not accepted")
                continue
            }
        }
    }

    @Test(arguments: ["W/\"a\"", nil])
    func joinsNothingUnderAWeakNameThatTheAnswerDoesNotRepeat(_ tag: String?) {
        let question = ask(known(tag: tag, date: Self.date))
        #expect(RangeResponse.judge(part("bytes 33616-99999/100000"), to: question) == .startOver(.noUsableRange))
    }

    @Test func joinsWithoutAnyNameOnlyAsTheUserWishesAndAfterComparing() {
        let head = part("bytes 50000-99999/100000")
        var question = ask(known(tag: "\"a\""), isPlain: true, isCompared: false)
        question.terms.mayBeUnnamed = true
        #expect(RangeResponse.judge(head, to: question) == .compareFirst)
        question.isCompared = true
        guard case .accept = RangeResponse.judge(head, to: question) else {
            Issue.record("not accepted")
            return
        }
    }

    @Test func joinsWhateverADigestWillProve() {
        for fields in [[:], ["ETag": "W/\"a\""]] as [KeyValuePairs<String, String>] {
            var question = ask(known(tag: "\"a\""), isCompared: false)
            question.terms.hasDigest = true
            guard
                case .accept(_, at: 50_000, compare: 0) = RangeResponse.judge(
                    part("bytes 50000-99999/100000", fields),
                    to: question
                )
            else {
                Issue.record("\(fields)")
                continue
            }
        }
    }

    @Test(arguments: ["W/\"a\"", nil])
    func wantsBlocksComparedBeforeItJoinsUnderAWeakName(_ tag: String?) {
        let question = ask(known(tag: tag, date: Self.date), isCompared: false)
        var head = part("bytes 33616-99999/100000", ["Last-Modified": Self.date])
        if let tag { head.headers.add(name: "ETag", value: tag) }
        #expect(RangeResponse.judge(head, to: question) == .compareFirst)
    }

    @Test func takesAnAnswerThatBringsEverythingAgainForACompletedComparison() {
        let question = ask(known(tag: "W/\"a\""), at: 9000, isCompared: false)
        guard
            case .accept(_, at: 9000, compare: 9000) = RangeResponse.judge(
                part("bytes 0-99999/100000", ["ETag": "W/\"a\""]),
                to: question
            )
        else {
            Issue.record("not accepted")
            return
        }
    }

    @Test(arguments: [
        ("bytes 20000-29999/100000", true), ("bytes 20000-99999/100000", true), ("bytes 20000-29999/*", true),
        ("bytes 20000-29998/100000", false), ("bytes 19999-29999/100000", false),
    ])
    func comparesExactlyTheBlockThatWasAskedFor(_ range: String, _ isOfUse: Bool) {
        let question = RangeRequest.comparing(20_000..<30_000, before: ask(known(tag: "W/\"a\""), isCompared: false))
        #expect(
            question.first == 20_000 && question.end == 30_000 && question.sendsRange && question.condition == .none
        )
        switch RangeResponse.judge(part(range, ["ETag": "W/\"a\""]), to: question) {
        case .accept(_, at: 30_000, compare: 10_000): #expect(isOfUse, "\(range)")
        case let answer: #expect(answer == .startOver(.noUsableRange) && !isOfUse, "\(range)")
        }
        guard isOfUse else { return }
        #expect(RangeResponse.judge(part(range, ["ETag": "W/\"b\""]), to: question) == .startOver(.changed))
    }

    @Test(arguments: ["W/\"a\"", nil])
    func comparesBytesWhereNoStrongTagVouches(_ tag: String?) {
        let question = ask(known(tag: tag, date: Self.date))
        var head = part("bytes 33616-99999/100000", ["Last-Modified": Self.date])
        if let tag { head.headers.add(name: "ETag", value: tag) }
        guard case .accept(_, 50_000, let compare) = RangeResponse.judge(head, to: question) else {
            Issue.record("not accepted")
            return
        }
        #expect(compare == RangeRequest.overlapLength)
    }

    @Test func learnsTheTotalFromAPartButNeverForgetsIt() {
        let question = ask(known(tag: "\"a\"", total: nil))
        let heads = [("bytes 50000-59999/70000", Int64(70_000)), ("bytes 50000-59999/*", nil)]
        for (range, total) in heads {
            guard case .accept(let resource, _, _) = RangeResponse.judge(part(range, ["ETag": "\"a\""]), to: question)
            else {
                Issue.record("\(range)")
                continue
            }
            #expect(resource.total == total)
        }
    }

    @Test func doesNotAskForeverForAPartThatBringsNothingNew() {
        let head = part("bytes 33616-49999/*", ["Last-Modified": Self.date])
        #expect(RangeResponse.judge(head, to: ask(known(date: Self.date))) == .startOver(.noUsableRange))
        // With an unknown total length, such an answer marks the end of the file.
        guard case .accept = RangeResponse.judge(head, to: ask(known(date: Self.date, total: nil))) else {
            Issue.record("not accepted")
            return
        }
    }

    @Test func wantsMoreThanBytesToJoinAnotherSource() {
        let both = known(tag: "\"a\"", date: Self.date)
        let question = ask(both, isReplaced: true)
        let heads: [(KeyValuePairs<String, String>, Bool)] = [
            (["ETag": "\"a\""], true), (["Last-Modified": Self.date], true), ([:], false),
            (["ETag": "\"b\"", "Last-Modified": Self.date], false), (["ETag": "W/\"a\""], false),
        ]
        let uncompared = ask(both, isReplaced: true, isCompared: false)
        #expect(
            RangeResponse.judge(part("bytes 33616-99999/100000", ["Last-Modified": Self.date]), to: uncompared)
                == .compareFirst
        )
        for (fields, isSame) in heads {
            switch RangeResponse.judge(part("bytes 33616-99999/100000", fields), to: question) {
            case .accept(_, at: 50_000, compare: RangeRequest.overlapLength): #expect(isSame, "\(fields)")
            case let answer: #expect(answer == .startOver(.changed) && !isSame, "\(fields)")
            }
        }
    }

    @Test func refusesAPartThatNobodyAskedFor() {
        guard case .refuse(.malformed) = RangeResponse.judge(part("bytes 0-4/5"), to: .whole) else {
            Issue.record("not refused")
            return
        }
    }

    // MARK: Redirected elsewhere

    @Test(arguments: ["https://files.example/v2/a.iso?signature=2", "https://other.example/v1/a.iso"])
    func comparesBlocksWhereARedirectLeadsToAnotherResource(_ url: String) {
        var known = known(tag: "\"a\"")
        known.redirectedTo = link("https://files.example/v1/a.iso")
        var head = part("bytes 50000-99999/100000", ["ETag": "\"a\""])
        head.url = link(url)
        let ladder = [
            ask(known, isCompared: false), ask(known, isPlain: true, isCompared: false), ask(known, isPlain: true),
        ]
        let answers = ladder.map { RangeResponse.judge(head, to: $0) }
        #expect(answers[0] == .askWithoutCondition && answers[1] == .compareFirst)
        #expect(answers[2].resource?.redirectedTo == link(url))
    }

    @Test func joinsWhereARedirectLeadsToTheSamePath() {
        var known = known(tag: "\"a\"")
        known.redirectedTo = link("https://files.example/v1/a.iso")
        var head = part("bytes 50000-99999/100000", ["ETag": "\"a\""])
        head.url = link("https://files.example/v1/a.iso?signature=2")
        #expect(RangeResponse.judge(head, to: ask(known, isCompared: false)).resource != nil)
    }
}
