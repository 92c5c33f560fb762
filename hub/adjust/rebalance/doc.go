// Package rebalance executes WorkloadRebalancers: it makes the scheduler place workloads from scratch, once.
//
//	Reads:     WorkloadRebalancers, the bindings of the workloads that they name.
//	Writes:    the status of WorkloadRebalancers; spec.rescheduleTriggeredAt of bindings.
//	Owns:      both. It deletes WorkloadRebalancers after their ttlSecondsAfterFinished.
//	Invariant: each workload that a WorkloadRebalancer names is placed from scratch once after the
//	           WorkloadRebalancer was created, however often that is reconciled. Results do not change.
//	Next:      the scheduler.
package rebalance
