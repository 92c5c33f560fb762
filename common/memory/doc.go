// Package memory tells Go how much memory its process may take: before the kernel ends a process
// that takes more than its container has, the garbage collector works harder.
package memory
