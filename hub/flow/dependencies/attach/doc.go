// Package attach thinks about what a workload needs beside it: which objects its
// references mean, and what the binding of such an object says because of it. It is
// pure.
package attach
