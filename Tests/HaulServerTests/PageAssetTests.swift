import Testing

@testable import HaulServer

@Suite struct PageAssetTests {
    @Test func hasThePageAndTheDescription() {
        let paths = PageAssets().paths
        #expect(paths.contains("index.html"))
        #expect(paths.contains("openapi.json"))
    }
}
