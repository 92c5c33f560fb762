// Package rebalance does what WorkloadRebalancers ask for: it has the scheduler place
// workloads from scratch, once.
//
//	Reads:     WorkloadRebalancers, the bindings of the workloads that they name.
//	Writes:    the status of WorkloadRebalancers; spec.rescheduleTriggeredAt of bindings.
//	Owns:      both. A WorkloadRebalancer that has outlived its ttlSecondsAfterFinished is
//	           deleted.
//	Invariant: each workload that a WorkloadRebalancer names is placed from scratch once
//	           after that was created, however often it is looked at. A result stays.
//	Next:      the scheduler.
package rebalance
