// Package owned finds the pods of a workload through their controllers, and describes their state. It is pure.
package owned
