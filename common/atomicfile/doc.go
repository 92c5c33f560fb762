// Package atomicfile replaces files atomically: after a crash, either the old or the new file is there, complete.
package atomicfile
