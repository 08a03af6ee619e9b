import Foundation
import Testing

@testable import HaulCore

@Suite struct TraceMaskTests {
    private func masked(_ texts: String...) throws -> [String] {
        var mask = TraceMask()
        return try texts.map { mask.masked(try #require(URL(string: $0))).absoluteString }
    }

    @Test func keepsWhatIsNoSecret() throws {
        #expect(try masked("https://files.example:8443/a%20b/c.iso") == ["https://files.example:8443/a%20b/c.iso"])
    }

    @Test func masksUserInfoValuesAndFragment() throws {
        #expect(
            try masked("https://user:secret@files.example/a?token=secret&b=2#secret")
                == ["https://*1@files.example/a?token=*2&b=*3#*2"]
        )
    }

    @Test func masksEqualValuesAlikeAndOthersDifferently() throws {
        #expect(
            try masked("http://h/a?x=1&y=2", "http://h/a?y=1&x=3", "http://u@h/a?x=2")
                == ["http://h/a?x=*1&y=*2", "http://h/a?y=*1&x=*3", "http://*4@h/a?x=*2"]
        )
    }

    @Test(arguments: ["secret", "c2VjcmV0=", "c2VjcmV0==", "secret&a=1", String(repeating: "s", count: 40) + "=1"])
    func masksATokenInPlaceOfAName(_ query: String) throws {
        let text = try masked("http://h/a?" + query)[0]
        #expect(text.hasPrefix("http://h/a?*1"))
        #expect(!text.contains("secret") && !text.contains("c2VjcmV0") && !text.contains("ss"))
    }

    @Test func keepsThatThereIsAQuery() throws {
        #expect(try masked("http://h/a?", "http://h/a?&") == ["http://h/a?", "http://h/a?&"])
    }

    @Test func masksTheNameInPlaceOfAURL() throws {
        #expect(try masked("haul-source:secret") == ["haul-source:*1"])
    }

    @Test func masksTheSpellingOfATargetAsTheURL() throws {
        var mask = TraceMask()
        #expect(mask.masked(target: "/a|b?token=secret&secret") == "/a|b?token=*1&*1")
        let url = try #require(URL(string: "http://h/a?x=secret"))
        #expect(mask.masked(url).absoluteString == "http://h/a?x=*1")
    }

    @Test func keepsWhetherAnAttemptFollowsAFailure() {
        let error = DownloadError(.incompleteStream, "secret", status: 503)
        for failure in [TransportError(retrying: error, after: .seconds(7)), TransportError(reporting: error)] {
            let event = DownloadMachine.Event.connectionEnded(.init(number: 1), .failed(failure, nil))
            let step = TraceLine.Step(at: .start, event: event, surroundings: nil, actions: [])
            var mask = TraceMask()
            guard
                case .connectionEnded(_, .failed(let kept, nil))? =
                    mask.masked(TraceLine(id: DownloadID(), step: step)).step?.event
            else {
                Issue.record("another event")
                return
            }
            #expect(kept.isReportPassing == failure.isReportPassing && kept.retryAfter == failure.retryAfter)
            #expect(kept.report == DownloadError(.incompleteStream, "", status: 503))
        }
    }

    /// A replay decides otherwise without these.
    @Test func keepsThatAnAnswerIsAStreamAndThatBytesAreOfARepair() throws {
        var head = ResponseHead(status: 200, fields: [], url: try #require(URL(string: "https://files.example/a.m3u8")))
        head.isStreamLog = true
        let events: [DownloadMachine.Event] = [
            .headReceived(.init(number: 1), head, retryAfter: nil), .recovered(nil, of: .init(isRepair: true)),
        ]
        for event in events {
            var mask = TraceMask()
            let step = TraceLine.Step(at: .start, event: event, surroundings: nil, actions: [])
            let masked = mask.masked(TraceLine(id: DownloadID(), step: step))
            #expect(masked.step?.event == event)
            let read = try JSONDecoder().decode(TraceLine.self, from: JSONEncoder().encode(masked))
            #expect(read.step?.event == event)
        }
    }

    @Test func keepsOfAnAnswerTheFieldsThatTheMachineReads() throws {
        let url = try #require(URL(string: "https://files.example/a.iso?token=secret"))
        let fields = [
            ("ETag", "\"1\""), ("Set-Cookie", "session=secret"), ("WWW-Authenticate", "Digest nonce=secret"),
            ("X-Key", "secret"), ("content-length", "5"),
            ("Link", "</b.iso?sig=secret>; rel=duplicate; pri=2; geo=de, <https://x.example/secret>; rel=secret"),
        ]
        var mask = TraceMask()
        let head = ResponseHead(status: 200, fields: fields, url: url)
        let step = TraceLine.Step(
            at: .start,
            event: .headReceived(.init(number: 1), head, retryAfter: nil),
            surroundings: nil,
            actions: []
        )
        guard case .headReceived(_, let kept, _)? = mask.masked(TraceLine(id: DownloadID(), step: step)).step?.event
        else {
            Issue.record("another event")
            return
        }
        #expect(kept.headers.lines.map(\.name) == ["ETag", "content-length", "Link"])
        #expect(kept.headers["Link"] == ["<https://files.example/b.iso?sig=*1>; rel=duplicate; pri=2; geo=de"])
        #expect(kept.url.absoluteString == "https://files.example/a.iso?token=*1")
        #expect(MirrorLinks(kept.headers["Link"], base: kept.url).mirrors.map(\.source.priority) == [2])
    }
}
