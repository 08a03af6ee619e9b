/// The version of Haul, the only place that it is written in.
package enum HaulVersion {
    package static let text = "0.1.0"
}
