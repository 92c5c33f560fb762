// Package cluster gives tests real control planes: bin/controlplane in a process of its
// own, on a free port and a directory that goes away with it. A hub has the CRDs of the
// propagation API if it is shared; a member runs pods on KWOK nodes.
//
// Starting one takes three to four seconds, so tests of one package share: they call
// Shared, work in a Namespace of their own, and the package has
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
// Where test/lend runs the tests of many packages they share as well, one after the other: a shared hub that asks for nothing
// else is borrowed from a Lender then, which removes from its database what they leave in it.
//
// What else they share, such as a fleet that one of them starts, is Kept, and lasts until the last of them.
//
// A control plane never outlives the test process, however that ends.
package cluster
