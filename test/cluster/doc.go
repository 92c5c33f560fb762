// Package cluster gives tests real control planes: bin/controlplane in a process of its
// own, on a free port and a directory that goes away with it. A hub has the CRDs of the
// propagation API if it is shared; a member runs pods on KWOK nodes.
//
// Starting one takes three to four seconds, so tests of one package share: they call
// Shared, work in a Namespace of their own, and the package has
//
//	func TestMain(m *testing.M) { cluster.Main(m) }
//
// In `make test` packages share as well, one after the other: the command pool lends each a hub for as long as its tests run, which is then
// made what it was, key by key in its database. One whose API server a test has made serve or ask something else is not lent again.
//
// What else they share, such as a fleet that one of them starts, is Kept, and lasts until the last of them.
//
// A control plane never outlives the test process, or the pool, however that ends.
package cluster
