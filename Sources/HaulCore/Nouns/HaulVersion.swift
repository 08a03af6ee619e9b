/// The version of Haul. Only this file states it.
package enum HaulVersion {
    package static let text = "0.1.0"
}
