// Package pods keeps why pods of the member are not ready, for whoever tells the hub of a workload
// that is not healthy. It is pure: pods in, reasons out. Of pods that are ready nothing is kept,
// and never anything that a container wrote, be it to its log or as its termination message.
package pods
