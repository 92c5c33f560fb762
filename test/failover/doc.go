// Package failover loses clusters of real fleets: the built programs, real API servers, agents that are killed. The
// stories of test/scenario cover what happens in every situation; these tests show that it really does, from the lease
// to the objects in the members.
//
//	go test ./test/failover
//	go test ./test/failover -run - -bench .     how long a lost cluster takes to be Unknown
package failover
