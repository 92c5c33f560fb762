// Package memory tells Go how much memory its process may take: before the kernel ends a process
// that takes more than its container has, the garbage collector works harder. And it says how much
// garbage there may be beside a large heap.
package memory
