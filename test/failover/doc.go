// Package failover loses clusters of real fleets: the built programs, real API servers,
// agents that are killed. The stories of test/scenario say what happens in every situation;
// here it is seen that it does happen, from the lease to the objects in the members.
//
//	go test ./test/failover
//	go test ./test/failover -run - -bench .     how long a lost cluster takes to be Unknown
package failover
