// Package cluster gives tests real control planes: bin/controlplane in its own process, on a free port and in a
// temporary directory. A shared hub has the CRDs of the propagation API; a member runs pods on KWOK nodes.
//
// Starting one takes three to four seconds, so the tests of a package share one: they call Shared, work in their own
// Namespace, and the package has
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
// When test/lend runs the tests of many packages, these share hubs as well, one package after the other: a shared hub
// with no other options is then borrowed from a Lender, which removes what the package left in its database.
//
// Anything else that tests share, such as a fleet that one of them starts, is a Kept, and lasts until the last test.
//
// A control plane never outlives the test process, however that ends.
package cluster
