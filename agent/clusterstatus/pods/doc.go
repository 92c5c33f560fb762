// Package pods keeps why pods of the member are not ready, for reports about unhealthy workloads. It is pure: pods
// in, reasons out. It keeps nothing of pods that are ready, and never anything that a container wrote, be it to its
// log or as its termination message.
package pods
