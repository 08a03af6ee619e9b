import Foundation

@testable import HaulCore
@testable import HaulKit

/// Traces of `haul get --trace`, as bug reports contain them.
extension FuzzTarget {
    private static let id = "01900000-0000-7000-8000-000000000001"

    static let traces: [FuzzTarget] = [
        FuzzTarget(
            "traces",
            [
                #"{"haulTrace":1,"version":"0.1.0"}\#n"#,
                """
                {"haulTrace":1,"version":"0.1.0"}
                {"id":"\(id)","step":{"actions":[{"report":{}}],"at":"1.5","event":{"cancelRequested":{}}}}

                """,
                """
                {"haulTrace":1,"version":"0.1.0"}
                {"id":"\(id)","step":{"at":"-0.1","actions":[{"forget":{"_0":[1,2]}}],"event":\
                {"bytesLanded":{"_0":{"synced":"","written":"0-5,7-9"}}}}}

                """,
            ]
        ) { bytes in
            do throws(TraceError) {
                _ = try TraceReader.lines(bytes)
                return nil
            } catch {
                return (1...bytes.count + 1).contains(error.line) ? nil : "\(error)"
            }
        }
    ]
}
